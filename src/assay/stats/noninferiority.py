"""Was a score held to within a margin, as far as these items and these launches can show?

Held means: the one-sided lower bound of the mean paired difference lies above -margin.  "No significant difference" is not held.
Differences are candidate minus reference, higher is better; a caller whose score is a loss flips the sign.

* binary, one launch: Tango's score test (Statistics in Medicine 17, 1998), its restricted likelihood solved in closed form,
  and the exact rule P(flip) <= 1 - alpha^(1/n) where nothing flipped;
* graded, one launch: Student's t on paired differences, and BCa where they are few or skewed (`bca_lower`, the wider of the
  two); with clusters the CR1 variance and t[C - 1];
* several launches: crossed random effects d_ij = mu + launch_i + item_j + rest_ij.  With A = var(row means)/k,
  B = var(column means)/n and E = residual variance/(k n), Var(mean) is estimated by A + B - E, and the bound lies
  sqrt(t[k-1]^2 A + t[n-1]^2 (B - E)) below the mean (never less than sqrt(t[k-1]^2 (A - E) + t[n-1]^2 B)).  Every part carries
  its own t quantile (Banerjee, Sankhya 22, 1960: coverage at least nominal); one t with Satterthwaite's degrees of freedom
  is liberal when k is 3 to 5 (docs/methodology.md has the figures);
* sparse differences (most are 0, as flips are): z^2/2 more items are taken to have moved each way (Agresti & Coull's idea),
  because the variance of a few flips is worst estimated when they happen to be few; and the half-width is never below the
  exact zero-flip bound, since having seen one flip cannot make the number of flips more certain than having seen none.

Cannot tell: whether the items stand for the use that matters, nor whether a score at chance or at its ceiling could have moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import MOST_REPETITIONS, Floats, smallest, t_quantile

Outcome = Literal["HELD", "DEGRADED", "INCONCLUSIVE"]
Array = NDArray[np.float64]

LEAST_LAUNCHES: Final = 3  # fewer say nothing of use about launch-to-launch variation
LEAST_CLUSTERS: Final = 10
FEW_ITEMS: Final = 50  # below, and beyond this skewness, a mean of items is not yet normal
SKEWED: Final = 1.0
POWER: Final = 0.8  # of the plans


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The outcome of a non-inferiority test, with what it would take to decide.

    `low` and `high` are one-sided bounds, each at the stated confidence.  `items_needed` and `launches_needed` would decide
    with 80 % power if there were no true difference, the other one kept as it is; None where more of it cannot help.
    """

    estimate: float
    low: float
    high: float
    verdict: Outcome
    worse_within_margin: bool  # shown to be worse, but not by more than the margin can tell
    items_needed: int | None
    launches_needed: int | None
    smallest_supported_margin: float  # at 80 % power with these items and launches
    method: str


def tango(b: float, c: float, n: int, margin: float) -> tuple[float, float]:
    """Score statistic Z and one-sided p of H0: P(c) - P(b) <= -margin.

    `b` items were right before and wrong now, `c` the other way round, of `n` pairs.  Raises ValueError if b + c > n.
    """
    from scipy.special import ndtr

    _check_flips(b, c, n)
    z = _tango_z(b, c, n, -_margin(margin))
    return z, float(ndtr(-z))


def tango_lower(b: float, c: float, n: int, confidence: float) -> float:
    """One-sided lower bound of P(c) - P(b): the difference at which Tango's Z is the normal quantile.  In -1..1."""
    from scipy.optimize import brentq

    _check_flips(b, c, n)
    z, edge = _z(confidence), 1.0 - 1e-12
    if _tango_z(b, c, n, -edge) <= z:
        return -1.0
    return float(brentq(lambda delta: _tango_z(b, c, n, delta) - z, -edge, edge, xtol=1e-12))


def zero_flip_bound(n: int, confidence: float) -> float:
    """Largest probability of a flip that is compatible with none in `n` independent items: 1 - (1 - confidence)^(1/n)."""
    _z(confidence)
    if n < 1:
        raise ValueError(f"a bound on flips needs at least one item, not {n}")
    return -math.expm1(math.log1p(-confidence) / n)


def items_needed_without_flips(margin: float, confidence: float) -> int:
    """Fewest items without a flip that show a change below `margin`: ln(1 - confidence)/ln(1 - margin), rounded up."""
    _z(confidence)
    if not 0.0 < margin < 1.0:
        raise ValueError(f"a margin on the probability of a flip must lie strictly between 0 and 1, not {margin}")
    return math.ceil(math.log1p(-confidence) / math.log1p(-margin) - 1e-9)


def items_needed(
    flip_rate: float, margin: float, confidence: float = 0.95, power: float = POWER, difference: float = 0.0
) -> int:
    """Independent binary items for this power: (z[conf] + z[power])^2 (psi - difference^2)/(margin + difference)^2."""
    if not margin + difference > 0.0:
        raise ValueError(f"a true difference of {difference} is not within the margin of {margin}: no size can show it")
    if not difference**2 <= flip_rate <= 1.0:
        raise ValueError(f"a share of flips must lie between the squared difference and 1, not {flip_rate}")
    factor = (_z(confidence) + _z(power)) ** 2
    return math.ceil(factor * (flip_rate - difference**2) / (margin + difference) ** 2 - 1e-9)


def flips(b: int, c: int, n: int, margin: float, confidence: float = 0.95) -> Decision:
    """Decision for binary scores of one launch each: Tango's test, and the exact rule where nothing flipped."""
    _check_flips(b, c, n)
    low, high = tango_lower(b, c, n, confidence), -tango_lower(c, b, n, confidence)
    none = b + c == 0
    if none:
        low, high = min(low, -zero_flip_bound(n, confidence)), max(high, zero_flip_bound(n, confidence))
    least = items_needed_without_flips(margin, confidence) if margin < 1.0 else 1
    needed = least if none else max(least, items_needed((b + c) / n, margin, confidence))
    return _decision(
        estimate=(c - b) / n,
        bounds=(low, high),
        margin=margin,
        items_needed=needed,
        smallest_margin=-low if none else (_z(confidence) + _z(POWER)) * math.sqrt((b + c) / n / n),
        method=f"Tango score test on {n} items, {b} flips to wrong and {c} to right"
        + (", or the exact zero-flip bound if stricter" if none else ""),
    )


def paired_t(differences: Floats, margin: float, confidence: float = 0.95, largest_change: float = 1.0) -> Decision:
    """Decision for graded scores of independent items of one launch; `differences` of shape [n], n >= 2.

    `largest_change` is the most that one item could change (1 for scores in 0..1): used only if nothing varied.
    """
    d = _finite(differences, 1)
    n = len(d)
    if n < 2:
        raise ValueError("a paired t test needs at least 2 items, not 1")
    if float(np.ptp(d)) == 0.0:
        return _unmoved(float(d[0]), n, LEAST_LAUNCHES, margin, confidence, largest_change, f"{n} items")
    worst = float(np.abs(d).max()) if _sparse(d) else 0.0
    spread = _Spread(mean=float(d.mean()), launch=0.0, item=float(d.var(ddof=1)), rest=0.0, worst=worst, reach=worst)
    return _crossed_decision(spread, 1, n, margin, confidence, f"paired Student t on {n} items", plan_launches=False)


def bca_lower(
    differences: Floats, margin: float, confidence: float = 0.95, largest_change: float = 1.0, *, seed: int
) -> Decision:
    """Decision for graded scores of one launch whose items are few (20 to 49) or skewed (|skew| > 1): the stricter bound.

    Each side is bounded by the wider of Student's t and BCa over items (9999 resamples drawn from `seed`): each alone is
    too narrow for some shape.  Nominal 5 %, losses exponential: at 20 items t holds 11 % and the wider one 10 %, at 50
    items 9 and 6 %; so few items may not show a rare large loss at all.  Elsewhere, and below 20 items: `paired_t`.
    """
    from assay.stats.bootstrap import LEAST_UNITS, bca

    plain, d = paired_t(differences, margin, confidence, largest_change), _finite(differences, 1)
    if float(np.ptp(d)) == 0.0 or len(d) < LEAST_UNITS or (len(d) >= FEW_ITEMS and abs(_skewness(d)) <= SKEWED):
        return plain
    low = min(plain.low, bca([d], np.mean, confidence, seed=seed, side="greater").low)
    high = max(plain.high, bca([d], np.mean, confidence, seed=seed, side="less").high)
    wider = 1.0 + (plain.low - low) / plain.smallest_supported_margin
    return _decision(
        estimate=plain.estimate,
        bounds=(low, high),
        margin=margin,
        items_needed=None if plain.items_needed is None else math.ceil(plain.items_needed * wider**2),
        smallest_margin=plain.smallest_supported_margin * wider,
        method=f"the wider of BCa and {plain.method}",
    )


def clustered(
    differences: Floats,
    clusters: Sequence[Hashable],
    margin: float,
    confidence: float = 0.95,
    largest_change: float = 1.0,
) -> Decision:
    """Decision for items that come in clusters (passages, subjects, templates): CR1 variance and t[C - 1], C >= 10.

    SE^2 = C/(C - 1) sum over clusters of (sum of (d - mean))^2 / n^2.  `clusters` holds one label for each difference.
    """
    d = _finite(differences, 1)
    if len(clusters) != len(d):
        raise ValueError(f"each of the {len(d)} differences needs the label of its cluster, not {len(clusters)} labels")
    index: dict[Hashable, int] = {}
    member = np.array([index.setdefault(label, len(index)) for label in clusters])
    count, n = len(index), len(d)
    if count < LEAST_CLUSTERS:
        raise ValueError(f"a clustered variance needs at least {LEAST_CLUSTERS} clusters, not {count}")
    words = f"{n} items in {count} clusters"
    if float(np.ptp(d)) == 0.0:
        return _unmoved(float(d[0]), count, LEAST_LAUNCHES, margin, confidence, largest_change, words)
    totals, sizes = np.bincount(member, weights=d), np.bincount(member).astype(np.float64)
    worst = float(np.abs(totals).max()) if _sparse(d) else 0.0
    extra = _z(confidence) ** 2 if worst else 0.0  # clusters taken to have moved, half of them each way
    centre = float(totals.sum()) / (n + extra * n / count)
    squares = float(np.sum((totals - sizes * centre) ** 2)) + extra * worst**2
    error = math.sqrt((count + extra) / (count + extra - 1) * squares) / (n * (1 + extra / count))
    return _clustered_decision(float(d.mean()), centre, error, n / count, count, margin, confidence, words)


def crossed(
    differences: NDArray[np.float64] | Sequence[Sequence[float]],
    margin: float,
    confidence: float = 0.95,
    largest_change: float = 1.0,
) -> Decision:
    """Decision over `differences` of shape [launches, items] that counts both kinds of variation.

    Row i holds launch i's candidate score minus reference score on the same items.  Fewer than 3 launches give bounds but no
    verdict.  If nothing varies at all: the exact zero-flip rule on the items, `largest_change` being the most that one
    could change.  Raises ValueError if an item lacks a value in some launch.
    """
    d = _rectangle(differences)
    k, n = d.shape
    words = f"{k} launches x {n} items"
    if float(np.ptp(d)) == 0.0:
        return _unmoved(float(d[0, 0]), n, k, margin, confidence, largest_change, words)
    if k == 1:
        return _one_launch(float(d.mean()), margin, n)
    method = f"two-way crossed random effects over {words}, one Student t for each part"
    return _crossed_decision(_components(d), k, n, margin, confidence, method, plan_launches=True)


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """Mean and variance components of a crossed design.

    `worst` is the largest mean change of an item if changes are sparse, else 0: flips that come and go between launches
    average out and need less widening than flips that stay.  `reach` is the largest single change seen, likewise else 0.
    """

    mean: float
    launch: float
    item: float
    rest: float
    worst: float
    reach: float


def _components(d: Array) -> _Spread:
    """Analysis of variance of [launches, items]; the components are unbiased and may be negative."""
    k, n = d.shape
    rows, columns = d.mean(axis=1), d.mean(axis=0)
    left = d - rows[:, np.newaxis] - columns + d.mean()
    sparse = _sparse(d)
    rest = float(np.sum(left**2)) / ((k - 1) * (n - 1))
    return _Spread(
        mean=float(d.mean()),
        launch=float(rows.var(ddof=1)) - rest / n,
        item=float(columns.var(ddof=1)) - rest / k,
        rest=rest,
        worst=float(np.abs(columns).max()) if sparse else 0.0,
        reach=float(np.abs(d).max()) if sparse else 0.0,
    )


def _errors(spread: _Spread, k: int, n: int, confidence: float) -> tuple[float, float]:
    """(half-width of the one-sided bound, standard error of the mean) for k launches and n items."""
    shared = spread.rest / (k * n)
    a, b = max(spread.launch / k + shared, 0.0), max(spread.item / n + shared, 0.0)
    b += _z(confidence) ** 2 * spread.worst**2 / (n * (n + _extra(spread, confidence)))
    t_launch, t_item = (t_quantile(confidence, k - 1) if k > 1 else 0.0), t_quantile(confidence, n - 1)
    half = max(
        t_launch**2 * a + t_item**2 * max(b - shared, 0.0),
        t_launch**2 * max(a - shared, 0.0) + t_item**2 * b,
    )
    floor = spread.reach * zero_flip_bound(n, confidence)
    return max(math.sqrt(half), floor), math.sqrt(max(a + b - shared, a, b))


def _extra(spread: _Spread, confidence: float) -> float:
    """How many items are taken to have moved besides those seen, half of them each way: z^2 if changes are sparse."""
    return _z(confidence) ** 2 if spread.worst else 0.0


def _crossed_decision(
    spread: _Spread, k: int, n: int, margin: float, confidence: float, method: str, *, plan_launches: bool
) -> Decision:
    half, error = _errors(spread, k, n, confidence)
    centre = spread.mean * n / (n + _extra(spread, confidence))
    assumed = _Spread(  # plans rest on true components, which are not negative
        mean=0.0,
        launch=max(spread.launch, 0.0),
        item=max(spread.item, 0.0),
        rest=spread.rest,
        worst=spread.worst,
        reach=spread.reach,
    )

    def enough(launches: int, items: int) -> bool:
        bound, scatter = _errors(assumed, launches, items, confidence)
        return bound + _z(POWER) * scatter <= margin

    return _decision(
        estimate=spread.mean,
        bounds=(centre - half, centre + half),
        margin=margin,
        items_needed=_planned(2, lambda items: enough(k, items)),
        launches_needed=_planned(LEAST_LAUNCHES, lambda launches: enough(launches, n)) if plan_launches else None,
        smallest_margin=half + _z(POWER) * error,
        method=method + (", sparse changes widened" if spread.worst else ""),
        launches=k if plan_launches else None,
    )


def _clustered_decision(
    mean: float, centre: float, error: float, size: float, count: int, margin: float, confidence: float, words: str
) -> Decision:
    half = t_quantile(confidence, count - 1) * error

    def enough(clusters: int) -> bool:
        factor = t_quantile(confidence, clusters - 1) + _z(POWER)
        return factor * error * math.sqrt(count / clusters) <= margin

    clusters = _planned(LEAST_CLUSTERS, enough)
    return _decision(
        estimate=mean,
        bounds=(centre - half, centre + half),
        margin=margin,
        items_needed=None if clusters is None else math.ceil(clusters * size),
        smallest_margin=half + _z(POWER) * error,
        method=f"cluster-robust (CR1) Student t on {words}",
    )


def _unmoved(
    value: float, units: int, k: int, margin: float, confidence: float, largest_change: float, words: str
) -> Decision:
    """All differences are equal, so nothing can be estimated: the exact bound on changes that `units` would have missed."""
    if not largest_change > 0.0:
        raise ValueError(f"the largest change of one item must be above 0, not {largest_change}")
    reach = largest_change + abs(value)
    bound = reach * zero_flip_bound(units, confidence)
    needed = items_needed_without_flips(margin / reach, confidence) if margin < reach else 1
    return _decision(
        estimate=value,
        bounds=(value - bound, value + bound),
        margin=margin,
        items_needed=needed,
        launches_needed=LEAST_LAUNCHES if needed <= units else None,
        smallest_margin=bound,
        method=f"exact zero-flip bound: no difference varied over {words}",
        launches=k,
    )


def _one_launch(mean: float, margin: float, n: int) -> Decision:
    return _decision(
        estimate=mean,
        bounds=(-math.inf, math.inf),
        margin=margin,
        launches_needed=LEAST_LAUNCHES,
        smallest_margin=math.inf,
        method=f"none: one launch of {n} items says nothing about launch-to-launch variation",
        launches=1,
    )


def _decision(
    *,
    estimate: float,
    bounds: tuple[float, float],
    margin: float,
    method: str,
    smallest_margin: float,
    items_needed: int | None = None,
    launches_needed: int | None = None,
    launches: int | None = None,
) -> Decision:
    """Compare the bounds with the margin; `launches` None means that launches play no part."""
    low, high = bounds
    _margin(margin)
    allowed = launches is None or launches >= LEAST_LAUNCHES
    verdict: Outcome = "INCONCLUSIVE"
    if allowed and low > -margin:
        verdict = "HELD"
    elif allowed and high < -margin:
        verdict = "DEGRADED"
    return Decision(
        estimate=estimate,
        low=low,
        high=high,
        verdict=verdict,
        worse_within_margin=high < 0.0 and verdict != "DEGRADED",
        items_needed=items_needed,
        launches_needed=launches_needed,
        smallest_supported_margin=smallest_margin,
        method=method,
    )


def _planned(first: int, enough: Callable[[int], bool]) -> int | None:
    """The smallest sufficient number, or None where no practical number suffices."""
    return smallest(first, enough) if enough(MOST_REPETITIONS) else None


def _skewness(d: Array) -> float:
    """Third standardised moment; d varies."""
    centred = d - d.mean()
    return float(np.mean(centred**3)) / math.pow(float(np.mean(centred**2)), 1.5)


def _sparse(d: Array) -> bool:
    """Are most of the differences exactly 0, as they are where a few items flip?"""
    return float(np.mean(d == 0.0)) > 0.5


def _tango_z(b: float, c: float, n: int, delta: float) -> float:
    """Tango's Z at the hypothesised difference `delta`, with the restricted probability of b in closed form."""
    linear = b * (1.0 - 3.0 * delta) + c * (1.0 - delta) - 2.0 * (n - b - c) * delta
    root = math.sqrt(max(linear**2 + 8.0 * n * b * delta * (1.0 - delta), 0.0))
    p = min(max((linear + root) / (4.0 * n), 0.0, -delta), (1.0 - delta) / 2.0)
    variance, gap = n * (2.0 * p + delta - delta**2), c - b - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


def _rectangle(differences: NDArray[np.float64] | Sequence[Sequence[float]]) -> Array:
    """[launches, items] without gaps; an item missing in some launch would pass for one without difference."""
    lengths = {len(row) for row in differences}
    if len(lengths) > 1:
        raise ValueError(f"every launch needs the same items, but their numbers differ: {sorted(lengths)}")
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 2 or d.shape[1] < 2:
        raise ValueError(f"differences must be launches x items with at least 2 items, not of shape {d.shape}")
    missing = np.argwhere(~np.isfinite(d))
    if len(missing):
        i, j = missing[0]
        raise ValueError(f"item {j} has no finite difference in launch {i}; {len(missing)} such gaps in all")
    return d


def _finite(values: Floats, dimensions: int) -> Array:
    d = np.asarray(values, dtype=np.float64)
    if d.ndim != dimensions or d.size == 0 or not np.all(np.isfinite(d)):
        raise ValueError(f"differences must be a list of finite numbers, one per item; got shape {d.shape}")
    return d


def _check_flips(b: float, c: float, n: int) -> None:
    if not (b >= 0 and c >= 0 and n >= 1 and b + c <= n):
        raise ValueError(f"flips must be at least 0 and together at most the number of items: b={b}, c={c}, n={n}")


def _margin(margin: float) -> float:
    if not (math.isfinite(margin) and margin > 0.0):
        raise ValueError(f"the margin must be a finite number above 0, not {margin}")
    return margin


def _z(probability: float) -> float:
    """Normal quantile, with the check that every confidence goes through."""
    if not 0.5 < probability < 1.0:
        raise ValueError(f"a one-sided confidence or power must lie strictly between 0.5 and 1, not {probability}")
    return t_quantile(probability, math.inf)
