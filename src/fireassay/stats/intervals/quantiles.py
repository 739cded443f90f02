"""Where does a percentile lie, and can these data support it at all?

* independent values: the exact order-statistic interval (binomial), and the fewest values that give one;
* launches of dependent trials (steps, requests): cluster-Woodruff.  The share of a launch's trials above the pooled
  quantile differs between launches; Student's t on that spread gives the uncertainty of the quantile's probability,
  and the pooled ranks map it back to values (Woodruff, JASA 47, 1952, with launches as the clusters):
      f_i = share of launch i above Q,  h = max(t[k-1] sd(f)/sqrt(k), z sqrt(p(1-p)/N)),  [X_floor((p-h)N), X_ceil((p+h)N)].

A percentile is refused (`Tail.insufficient`) if a rank falls outside the data, or if fewer than 10 independent trials lie
beyond it: n_eff min(p, 1-p) < 10, n_eff = N / tau, tau the autocorrelation time of "above the quantile", the longest over five
quantiles at a quarter of 1 - p to four times it.  With bursts, one more burst moves the quantile, yet the flags of that one
quantile look independent.
Both rules are needed: the few finite intervals of short runs are mostly wrong (benchmarks/results/tails.md).
Cannot tell: a tail that no launch reached, or a bias that all launches share.

`between_launches`: with three launches the interval of `cluster_woodruff` often extends beyond the largest or
smallest rank and has no end.  Here the value stays the pooled quantile, and its interval is Student t on the log of the launches'
own quantiles, centred on the pooled value.  It needs positive values, five trials beyond the quantile in each launch, and ten
independent trials beyond it overall, twenty in a tail.  Independence is judged within launches: the interval itself covers
differences between launches.

Coverage on M/M/1 sojourn times where these conditions hold and the other interval is open, with launches equal or differing by
30 %: 92.5 to 97.6 % for p50, p95 and p99 at load 0.5; 94 to 96 % for p50 and 89 to 93 % for p95 at load 0.8 (nominal 95 %,
200 to 300 runs each; slow form in tests/stats/intervals/test_launch_quantiles.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.autocorrelation import integrated_time
from fireassay.stats.intervals.intervals import MAX_REPETITIONS, Floats, Interval, finite_vector, fraction, smallest, t_quantile

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MIN_LAUNCHES: Final = 3  # fewer say nothing useful about launch-to-launch variation
# trials per launch used for the autocorrelation time; more add nothing
MEMORY: Final = 2**16
BEYOND: Final = 10  # least independent trials beyond a percentile
NEARBY: Final = (0.25, 0.5, 1.0, 2.0, 4.0)  # the quantiles whose memory counts, as multiples of min(p, 1 - p)
BURSTS: Final = 1.5  # least ratio to the quantile's own memory: estimates from few trials differ by chance
MIN_FLAGS: Final = 5  # fewest trials beyond a quantile that show its memory


@dataclass(frozen=True, kw_only=True)
class Tail:
    """A quantile of pooled launches, its interval, and whether the data support it.

    `insufficient` is empty, or a sentence that says what is missing and how much would suffice; value and bounds then still
    describe the sample.  `launches_needed` (of this length) and `trials_needed` (in each of these launches) are planned from
    this sample; None if nothing is missing, the latter also if longer launches would not help.
    An infinite bound is a side that the data leave open.
    """

    value: float
    low: float
    high: float
    p: float
    confidence: float
    n: int  # trials in all launches
    k: int  # launches
    tau: float  # autocorrelation time of the indicator "above the value", in trials; the longest over nearby quantiles
    n_eff: float  # equivalent independent trials
    half_width: float  # of the probability: the interval covers the pooled quantiles p -+ half_width
    insufficient: str = ""
    launches_needed: int | None = None
    trials_needed: int | None = None


def least_two_sided(p: float, confidence: float) -> int:
    """Fewest independent values with a finite two-sided interval: ceil(ln((1 - c)/2)/ln(max(p, 1 - p)))."""
    return math.ceil(math.log((1.0 - fraction(confidence, "confidence")) / 2.0) / math.log(_larger(p)) - 1e-9)


def cluster_woodruff(launches: Sequence[Floats], p: float, confidence: float) -> Tail:
    """The p-quantile (0..1) of the trials of all launches, with its interval over launches; method in the module docstring.

    `launches` holds one series per launch, in arrival order; lengths may differ.  ValueError for an empty or non-finite series,
    or a probability outside 0..1; too few data set `Tail.insufficient` instead.
    """
    fraction(p, "probability of a quantile")
    fraction(confidence, "confidence")
    data = [finite_vector(values, "values") for values in launches]
    if not data:
        raise ValueError("a quantile needs at least one launch")
    pool = np.concatenate(data)
    value = float(np.quantile(pool, p))
    above = [values > value for values in data]
    n, k = len(pool), len(data)
    levels = (value, *np.quantile(pool, nearby(p, n)))
    tau = longest_memory([integrated_time([_start(x > level) for x in data]) for level in levels])
    spread = _spread(above)
    half = _half_width(spread, n, k, p, confidence)
    low, high = _bounds(pool, p, half)
    tail = Tail(value=value, low=low, high=high, p=p, confidence=confidence, n=n, k=k, tau=tau, n_eff=n / tau, half_width=half)
    open_ended = math.isinf(low) or math.isinf(high)
    if k >= MIN_LAUNCHES and not open_ended and tail.n_eff * min(p, 1.0 - p) >= BEYOND:
        return tail
    launches_needed, trials_needed = _needed(spread, n, k, p, confidence, tau)
    return _refused(tail, launches_needed, None if k < MIN_LAUNCHES or _differ(above, spread, p) else trials_needed)


def nearby(p: float, n: int) -> list[float]:
    """Other quantiles (0..1), on both sides of `p`, whose memory `n` trials can show."""
    beyond = [factor * min(p, 1.0 - p) for factor in NEARBY if factor != 1.0]
    shown = [share for share in beyond if share <= 0.5 and share * n >= MIN_FLAGS]
    return [1.0 - share if p >= 0.5 else share for share in shown]


def longest_memory(times: Sequence[float]) -> float:
    """The first autocorrelation time, or the longest of the others if clearly longer."""
    at_quantile, longest = times[0], max(times)
    return longest if longest > BURSTS * at_quantile else at_quantile


def _start(flags: Flags) -> Array:
    """The part of a launch used to estimate its memory."""
    return flags[:MEMORY].astype(np.float64)


def _spread(above: Sequence[Flags]) -> float:
    """Standard deviation between launches of the share above, weighted by their number of trials."""
    if len(above) < 2:
        return math.inf
    sizes = np.array([len(flags) for flags in above], dtype=np.float64)
    shares = np.array([flags.mean() for flags in above])
    off = sizes / sizes.mean() * (shares - float(np.average(shares, weights=sizes)))
    return math.sqrt(float(off @ off) / (len(above) - 1))


def _half_width(spread: float, n: float, k: int, p: float, confidence: float) -> float:
    """h: Student's t on the spread, but at least that of independent trials."""
    upper = (1.0 + confidence) / 2.0
    between = t_quantile(upper, k - 1) * spread / math.sqrt(k) if k > 1 else math.inf
    return max(between, t_quantile(upper, math.inf) * math.sqrt(p * (1.0 - p) / n))


def _bounds(pool: Array, p: float, half: float) -> tuple[float, float]:
    """The pooled values at the ranks (0-based) of p -+ half; infinite if there is no such rank."""
    n = len(pool)
    if math.isinf(half):
        return -math.inf, math.inf
    low, high = math.floor((p - half) * n), math.ceil((p + half) * n)
    ranks = [rank for rank in (low, high) if 0 <= rank < n]
    # partition: six times as fast as sorting millions of values
    placed = np.partition(pool, ranks) if ranks else pool
    return (float(placed[low]) if low >= 0 else -math.inf), (float(placed[high]) if high < n else math.inf)


def _needed(spread: float, n: int, k: int, p: float, confidence: float, tau: float) -> tuple[int, int]:
    """(launches of this length, trials in each of these launches) that would suffice with the same spread and tau.

    The spread is assumed to fall with the root of launch length, as it does if launches differ only by chance.
    """
    beyond = min(p, 1.0 - p)
    trials = BEYOND * tau / beyond

    def wide_enough(launches: int) -> bool:
        total = n * launches / k
        return total >= trials and _half_width(spread, total, launches, p, confidence) <= beyond - 1.0 / total

    if math.isinf(spread):
        return max(MIN_LAUNCHES, math.ceil(trials / n * k)), math.ceil(trials / k)
    launches = smallest(max(k, MIN_LAUNCHES), lambda count: count >= MAX_REPETITIONS or wide_enough(count))
    scaled = _half_width(spread, n, k, p, confidence) * math.sqrt(n)  # h of N trials: scaled/sqrt(N) <= beyond - 1/N
    narrow = (2.0 / (math.sqrt(scaled**2 + 4.0 * beyond) - scaled)) ** 2
    return launches, math.ceil(max(trials, narrow) / k)


def _differ(above: Sequence[Flags], spread: float, p: float) -> bool:
    """Do launches differ by more than dependence within them explains?  If so, longer launches would not help."""
    inside = integrated_time([(some := _start(flags)) - some.mean() for flags in above])
    by_chance = math.sqrt(inside * p * (1.0 - p) * len(above) / sum(map(len, above)))
    return spread > 2.0 * by_chance


def _refused(tail: Tail, launches: int, trials: int | None) -> Tail:
    """The same tail with the reason for the refusal, and what would suffice."""
    name, beyond = f"p{100 * tail.p:g}", math.floor(tail.n_eff * min(tail.p, 1.0 - tail.p))
    more = f"about {launches} launches of this length"
    if tail.k < MIN_LAUNCHES:
        why = f"{name} needs at least {MIN_LAUNCHES} launches, whose spread is its uncertainty, not {tail.k}"
    elif beyond < BEYOND:
        why = (
            f"{name} needs {BEYOND} independent trials beyond it, and {tail.n} trials with an autocorrelation time of "
            f"{round(tail.tau)} have about {beyond}"
        )
    else:
        why = f"the {tail.k} launches differ so much beyond {name} that its interval is open"
    if trials is not None:
        more += f", or {trials} trials in each of the {tail.k},"
    return replace(tail, insufficient=f"{why}; {more} would do", launches_needed=launches, trials_needed=trials)


def _larger(p: float) -> float:
    return max(fraction(p, "probability of a quantile"), 1.0 - p)


IN_EACH: Final = 5  # least trials beyond the quantile in each launch
MIDDLE: Final = 0.25  # a quantile with more than this share on both sides is not in a tail


def carried(tail: Tail, launches: Sequence[NDArray[np.float64]]) -> bool:
    """True if the trials support the quantile, regardless of the number of launches."""
    beyond = min(tail.p, 1.0 - tail.p)
    if not all(bool(np.all(values > 0.0)) and len(values) * beyond >= IN_EACH for values in launches):
        return False
    levels = (tail.p, *nearby(tail.p, min(map(len, launches))))
    pool = np.concatenate(launches)
    within = [_memory(launches, [float(np.quantile(values, p)) for values in launches]) for p in levels]
    pooled = [_memory(launches, [float(level)] * len(launches)) for level in np.quantile(pool, levels)]
    tau = longest_memory([*within, *pooled])
    return tail.n / tau * beyond >= (BEYOND if beyond >= MIDDLE else 2 * BEYOND)


def _memory(launches: Sequence[NDArray[np.float64]], levels: Sequence[float]) -> float:
    """Autocorrelation time of "above the launch's level", within launches: the interval covers differences between them."""
    above = [(values > level).astype(np.float64) for values, level in zip(launches, levels, strict=True)]
    return integrated_time([flags - flags.mean() for flags in above])


def between_launches(tail: Tail, launches: Sequence[NDArray[np.float64]]) -> Interval:
    """The pooled quantile with the spread of the launches' quantiles; unbounded for a single launch."""
    k = len(launches)
    if k < 2:
        return Interval(value=tail.value, low=-math.inf, high=math.inf)
    logs = np.log([float(np.quantile(values, tail.p)) for values in launches])
    half = t_quantile((1.0 + tail.confidence) / 2.0, k - 1) * float(np.std(logs, ddof=1)) / math.sqrt(k)
    return Interval(value=tail.value, low=tail.value * math.exp(-half), high=tail.value * math.exp(half))
