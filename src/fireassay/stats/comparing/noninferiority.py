"""Was a score held to within a margin, as far as these items and launches can show?

Held: the one-sided lower bound of the mean paired difference lies above -margin.  "No significant difference" is not held.
Differences are candidate minus reference, higher is better; flip the sign of a loss.

    items      right or wrong, independent, equal in every launch: Tango's score test plus exact rules (`tango`);
               otherwise Gaffke's bound for bounded values of any shape, with clusters as units and weights as sizes (`bounded_mean`).
               No item changes by more than `largest_change`; if larger changes occurred, the bound is extrapolated from their tail
    launches   crossed random effects d_ij = mu + launch_i + unit_j + rest_ij: with A = var(row means)/k and E = residual
               variance/(k units), both bounds move out by t[k-1]^2 A - z^2 E, squared (at least 0: the items' part includes E)
    both       mean -+ sqrt(items^2 + launches^2).  Each part carries its own quantile (Banerjee, Sankhya 22, 1960)

`benchmarks/quality_held.py` measures the error rates for clusters, skewed losses, few units, and launches that do or do not differ.
Cannot tell: whether the items represent real use, launches that fail too rarely to occur here, or unlabelled dependence
between items.

`unpaired`: launches of records made separately have no natural pairs, and pairing them by number would invent a design.
Items are paired by id, launches are not.  With item means over launches, mean difference m = mean_j (c_j - r_j):

    items      bounds of the mean of the n differences of item means (`of_items`: Tango, or Gaffke on items or clusters)
    launches   A = var(launch means of c)/k_c + var(launch means of r)/k_r, Welch-Satterthwaite degrees of freedom
    bounds     m -+ sqrt(items^2 + t^2 A)

Variation that launches and items share counts in both parts, so the bounds are conservative (Welch, Biometrika 34, 1947).  Cannot tell: a
drift between the two sessions.

By how much can the share of right answers have changed, given each item's right or wrong before and after?

Tango's score test for paired differences (Statistics in Medicine 17, 1998), its restricted likelihood solved in closed form,
plus two exact rules: Clopper and Pearson bound flips that all go one way, and no bound is closer to the estimate than that of
n items without a flip, since observing flips does not make their rate more certain.  With these, a loss of the margin is
called held in at most 5.5 % of cases for margins that n items can show (`benchmarks/quality_held.py` sums over every table of
flips); Tango's test alone reaches 6.0 %.
Cannot tell: dependence between items, or differences between launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals import bounded_mean
from fireassay.stats.intervals.bounded_mean import Units
from fireassay.stats.intervals.intervals import MAX_REPETITIONS, smallest, t_quantile
from fireassay.stats.intervals.item_means import Labels, members
from fireassay.stats.solvers import root


def tango_z(b: float, c: float, n: int, delta: float) -> float:
    """Tango's Z of H0: P(c) - P(b) <= delta.  Of `n` items `b` went from right to wrong, `c` from wrong to right.

    Raises:
        ValueError: the flips do not fit into n items.
    """
    if not (b >= 0 and c >= 0 and n >= 1 and b + c <= n):
        raise ValueError(f"flips must be at least 0 and together at most the number of items: b={b}, c={c}, n={n}")
    linear = b * (1.0 - 3.0 * delta) + c * (1.0 - delta) - 2.0 * (n - b - c) * delta
    root = math.sqrt(max(linear**2 + 8.0 * n * b * delta * (1.0 - delta), 0.0))
    p = min(max((linear + root) / (4.0 * n), 0.0, -delta), (1.0 - delta) / 2.0)
    variance, gap = n * (2.0 * p + delta - delta**2), c - b - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


def tango_lower(b: float, c: float, n: int, confidence: float) -> float:
    """One-sided lower bound of P(c) - P(b): the difference where Tango's Z equals the normal quantile.  In -1..1."""
    z, edge = t_quantile(confidence, math.inf), 1.0 - 1e-12
    if tango_z(b, c, n, -edge) <= z:
        return -1.0
    return root(lambda delta: tango_z(b, c, n, delta) - z, -edge, edge, tolerance=1e-12)


def flips_lower(b: int, c: int, n: int, confidence: float) -> float:
    """Tango's lower bound or an exact one, whichever is lower."""
    from scipy.special import betaincinv

    low = min(tango_lower(b, c, n, confidence), (c - b) / n - zero_flip_bound(n, confidence))
    if c > 0 or b == n:
        return low
    return min(low, -float(betaincinv(b + 1, n - b, confidence)))


def zero_flip_bound(n: int, confidence: float) -> float:
    """Largest flip probability compatible with none in `n` independent items: 1 - (1 - confidence)^(1/n)."""
    t_quantile(confidence, math.inf)
    if n < 1:
        raise ValueError(f"a bound on flips needs at least one item, not {n}")
    return -math.expm1(math.log1p(-confidence) / n)


Outcome = Literal["HELD", "DEGRADED", "INCONCLUSIVE", "MEASURED"]  # MEASURED: no margin was given
Array = NDArray[np.float64]

CONTROL: Final = 3.0  # margins that a negative control loses: held counts only where the rule would have seen it
MIN_LAUNCHES: Final = 3  # fewer say nothing useful about launch-to-launch variation
POWER: Final = 0.8  # of sample-size plans


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The outcome of a non-inferiority test, and what it would take to decide.

    `low` and `high` are one-sided bounds, each at the stated confidence.  `items_needed` and `launches_needed` would decide with
    80 % power if there were no true difference, each with the other fixed; None if more of it cannot help.  `items_as_seen` would if
    the true difference were the one that was seen; None of launches that differ.
    """

    estimate: float
    low: float
    high: float
    verdict: Outcome
    worse_within_margin: bool  # significantly worse, but by less than the margin
    items_needed: int | None
    launches_needed: int | None
    items_as_seen: int | None = None
    smallest_supported_margin: float  # at 80 % power with these items and launches
    method: str
    items: int
    clusters: int | None  # None: no item has a cluster, each is a unit
    alone: int  # items without a cluster


@dataclass(frozen=True, kw_only=True)
class Items:
    """The items' part of a mean difference: one-sided bounds and standard error."""

    mean: float
    low: float
    high: float
    error: float
    count: int
    units: int
    reach: float  # largest change assumed possible for one item
    alone: int  # items without a cluster
    method: str
    uneven: float = 1.0  # units / their effective number: how many more are needed because of their sizes
    planned: float = 0.0  # standard error if change and size were independent: heavy units that did not change this time may the next

    @property
    def clusters(self) -> int | None:
        """Number of clusters; None if no item has one."""
        return self.units - self.alone if self.alone < self.count else None


@dataclass(frozen=True, kw_only=True)
class Launches:
    """The launches' part of the bounds: half-width and standard error; fewer than 3 give no verdict."""

    count: int
    half: float
    error: float
    method: str


def items_needed_without_flips(margin: float, confidence: float) -> int:
    """Fewest items without a flip that bound the change below `margin`: ln(1 - confidence)/ln(1 - margin), rounded up."""
    _z(confidence)
    if not 0.0 < margin < 1.0:
        raise ValueError(f"a margin on the probability of a flip must lie strictly between 0 and 1, not {margin}")
    return math.ceil(math.log1p(-confidence) / math.log1p(-margin) - 1e-9)


def items_needed(flip_rate: float, margin: float, confidence: float = 0.95, power: float = POWER, difference: float = 0.0) -> int:
    """Independent binary items for this power: (z[conf] + z[power])^2 (psi - difference^2)/(margin + difference)^2."""
    if not margin + difference > 0.0:
        raise ValueError(f"a true difference of {difference} is not within the margin of {margin}: no size can show it")
    if not difference**2 <= flip_rate <= 1.0:
        raise ValueError(f"a share of flips must lie between the squared difference and 1, not {flip_rate}")
    factor = (_z(confidence) + _z(power)) ** 2
    return math.ceil(factor * (flip_rate - difference**2) / (margin + difference) ** 2 - 1e-9)


def crossed(
    differences: NDArray[np.float64] | Sequence[Sequence[float]],
    margin: float,
    confidence: float = 0.95,
    largest_change: float = 1.0,
    clusters: Labels | None = None,
) -> Decision:
    """Decision over `differences` of shape [launches, items], with variation of launches and items, and clusters of items.

    Row i holds launch i's candidate score minus reference score on the same items.  Fewer than 3 launches give bounds but no
    verdict.  `largest_change` is the most that one item's score could change (1 for scores in 0..1).

    Raises:
        ValueError: an item lacks a value in some launch, or the labels do not fit the items.
    """
    d = _rectangle(differences)
    fixed = float(np.ptp(d, axis=0).max()) == 0.0
    items = of_items(d[0] if fixed else d.mean(axis=0), confidence, largest_change, clusters, fixed=fixed)
    return decision(items, launches_of(d, clusters, confidence), margin, confidence)


def of_items(
    means: Array, confidence: float, largest_change: float, clusters: Labels | None = None, *, fixed: bool, weights: Array | None = None
) -> Items:
    """Bounds of the (weighted) mean of the items' differences (shape [items]); `fixed`: no launch differed from the others."""
    if not largest_change > 0.0:
        raise ValueError(f"the largest change of one item must be above 0, not {largest_change}")
    even = weights is None or bool(np.all(weights == weights[0]))
    units, n = units_of(means, clusters, None if even else weights), len(means)
    alone = n if clusters is None else sum(label is None for label in clusters)
    reach = largest_change
    if float(np.abs(means).max()) > largest_change * (1.0 + 1e-12):
        reach = bounded_mean.extrapolated(units.totals / units.sizes)
    count = len(units.sizes)
    flips = fixed and even and alone == n and bool(np.isin(means, (-reach, 0.0, reach)).all())
    low, high = _of_flips(means, reach, confidence) if flips else _of_units(units, reach, confidence)
    squares = float(np.sum((units.totals - units.mean * units.sizes) ** 2)) * count / max(1, count - 1)
    uneven = count * float(units.sizes @ units.sizes) / float(units.sizes.sum()) ** 2
    return Items(
        mean=units.mean,
        low=low,
        high=high,
        error=math.sqrt(squares) / float(units.sizes.sum()),
        count=n,
        units=count,
        reach=reach,
        alone=alone,
        method="Tango's score test" if flips else "Gaffke's bound",
        uneven=uneven,
        planned=math.sqrt(float(np.var(units.totals / units.sizes)) * uneven / count),
    )


def largest_change(reference: Array, candidate: Array, clusters: Labels | None = None) -> float:
    """The most that one item's score may change, from the scores of both sides (shape [launches, items]).

    Scores within 0..1: 1.  Two-valued scores: their distance.  Others have no known limit: the larger of the observed range and
    an extrapolation of the tail of the changes; inf if that tail has no mean.
    """
    values = np.concatenate((reference.ravel(), candidate.ravel()))
    if values.min() >= 0.0 and values.max() <= 1.0:
        return 1.0
    low, high = float(values.min()), float(values.max())
    if bool(np.isin(values, (low, high)).all()) and high > low:
        return high - low
    units = units_of(candidate.mean(axis=0) - reference.mean(axis=0), clusters)
    return max(1e-12, high - low, bounded_mean.extrapolated(units.totals / units.sizes))


def units_of(means: Array, clusters: Labels | None, weights: Array | None = None) -> Units:
    """Items grouped by cluster; an item without a label is its own unit.  An item of weight w counts as w items."""
    member, counted = members(len(means), clusters), np.ones(len(means)) if weights is None else weights
    totals = np.asarray(np.bincount(member, weights=means * counted), dtype=np.float64)
    return Units(totals=totals, sizes=np.asarray(np.bincount(member, weights=counted), dtype=np.float64))


def decision(items: Items, launches: Launches, margin: float | None, confidence: float) -> Decision:
    """Combine both parts and compare them with the margin; without one only the bounds are known."""
    low = items.mean - math.hypot(items.mean - items.low, launches.half)
    high = items.mean + math.hypot(items.high - items.mean, launches.half)
    verdict: Outcome = "MEASURED" if margin is None else _outcome(low, high, launches, _margin(margin))
    more_items, more_launches = (None, None) if margin is None else _needed(items, launches, margin, items.mean - items.low, confidence)
    return Decision(
        estimate=items.mean,
        low=low,
        high=high,
        verdict=verdict,
        worse_within_margin=high < 0.0 and verdict in ("HELD", "INCONCLUSIVE"),
        items_needed=more_items,
        launches_needed=more_launches,
        items_as_seen=None if margin is None or launches.error else _as_seen(items, launches, margin, confidence),
        smallest_supported_margin=items.mean - low + _z(POWER) * math.hypot(items.error, launches.error),
        method=_method(items, launches),
        items=items.count,
        clusters=items.clusters,
        alone=items.alone,
    )


def _outcome(low: float, high: float, launches: Launches, margin: float) -> Outcome:
    if launches.count < MIN_LAUNCHES or low <= -margin <= high:
        return "INCONCLUSIVE"
    return "HELD" if low > -margin else "DEGRADED"


def _of_flips(means: Array, reach: float, confidence: float) -> tuple[float, float]:
    n, b, c = len(means), int(np.sum(means < 0.0)), int(np.sum(means > 0.0))
    return reach * flips_lower(b, c, n, confidence), -reach * flips_lower(c, b, n, confidence)


def _of_units(units: Units, reach: float, confidence: float) -> tuple[float, float]:
    return bounded_mean.lower(units, -reach, confidence), bounded_mean.upper(units, reach, confidence)


def launches_of(d: Array, clusters: Labels | None, confidence: float) -> Launches:
    """The launches' part of one-sided bounds: analysis of variance over [launches, units]; unbounded for one launch."""
    k, n = d.shape
    method = f"{k} launches, paired"
    if k == 1:
        return Launches(count=1, half=math.inf, error=math.inf, method="one launch, which says nothing about others")
    member = members(n, clusters)
    totals, sizes = np.array([np.bincount(member, weights=row) for row in d]), np.bincount(member)
    count = len(sizes)
    u = (totals - d.mean() * sizes) * count / n  # its mean over units is the launch mean less the grand mean
    left = u - u.mean(axis=1, keepdims=True) - u.mean(axis=0) + u.mean()
    between = float(d.mean(axis=1).var(ddof=1)) / k
    rest = float(np.sum(left**2)) / ((k - 1) * max(1, count - 1)) / (k * count)
    half = t_quantile(confidence, k - 1) ** 2 * between - _z(confidence) ** 2 * rest
    return Launches(count=k, half=math.sqrt(max(0.0, half)), error=math.sqrt(max(0.0, between - rest)), method=method)


def _needed(items: Items, launches: Launches, gap: float, half: float, confidence: float) -> tuple[int | None, int | None]:
    """Items, and launches, whose bound would keep off a limit `gap` away; `half`: the items' now, whose excess over a normal one falls as
    1/items."""
    if not math.isfinite(launches.half):
        return None, MIN_LAUNCHES
    if not math.isfinite(half):
        return None, None
    z, k = _z(confidence), launches.count
    added, single = max(0.0, half - z * items.error), max(items.error, items.planned)

    def enough(more_items: float, more_launches: float) -> bool:
        """True if this many times as many of each would decide."""
        error, t = single / math.sqrt(more_items), t_quantile(confidence, k * more_launches - 1)
        scale = t / t_quantile(confidence, k - 1) / math.sqrt(more_launches)
        bound = math.hypot(z * error + added / more_items, launches.half * scale)
        return bound + _z(POWER) * math.hypot(error, launches.error / math.sqrt(more_launches)) <= gap

    least = math.ceil(items_needed_without_flips(gap / items.reach, confidence) * items.uneven) if gap < items.reach else 2
    units = _planned(2, lambda count: enough(count / items.units, 1.0))
    wanted = None if units is None else max(least, math.ceil(units * items.count / items.units))
    return wanted, _planned(MIN_LAUNCHES, lambda count: enough(1.0, count / k))


def _as_seen(items: Items, launches: Launches, margin: float, confidence: float) -> int | None:
    """Items that show on which side of the margin the difference that was seen lies; None at the margin itself."""
    gap = items.mean + margin
    if abs(gap) <= 1e-9 * margin:
        return None
    half = items.mean - items.low if gap > 0.0 else items.high - items.mean
    return _needed(items, launches, abs(gap), half, confidence)[0]


def _planned(first: int, enough: Callable[[int], bool]) -> int | None:
    """The smallest sufficient number, or None if no practical number suffices."""
    return smallest(first, enough) if enough(MAX_REPETITIONS) else None


def _method(items: Items, launches: Launches) -> str:
    of = f"{items.count} independent items" if items.clusters is None else f"{items.count} items in {items.units} independent units"
    return f"{items.method} on {of}, Student t on {launches.method}"


def _rectangle(differences: NDArray[np.float64] | Sequence[Sequence[float]]) -> Array:
    """[launches, items] without gaps: a missing item would pass for one without a difference."""
    lengths = {len(row) for row in differences}
    if len(lengths) > 1:
        raise ValueError(f"every launch needs the same items, but their numbers differ: {sorted(lengths)}")
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 2 or d.shape[1] < 2:
        raise ValueError(f"differences must be launches x items with at least 2 items, not of shape {d.shape}")
    missing = np.argwhere(~np.isfinite(d))
    if len(missing):
        i, j = missing[0]
        raise ValueError(f"item {j} has no finite difference in launch {i}; {len(missing)} such gaps in total")
    return d


def _margin(margin: float) -> float:
    if not (math.isfinite(margin) and margin > 0.0):
        raise ValueError(f"the margin must be a finite number above 0, not {margin}")
    return margin


def _z(probability: float) -> float:
    """Normal quantile; validates every confidence."""
    if not 0.5 < probability < 1.0:
        raise ValueError(f"a one-sided confidence or power must lie strictly between 0.5 and 1, not {probability}")
    return t_quantile(probability, math.inf)


def unpaired(
    reference: Array, candidate: Array, margin: float, confidence: float = 0.95, largest_change: float = 1.0, clusters: Labels | None = None
) -> Decision:
    """Decision over scores of shape [launches, items] for each side, same items in the same order, higher is better.

    Raises:
        ValueError: item counts differ, a score is not finite, or the labels do not fit the items.
    """
    r, c = np.asarray(reference, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if r.ndim != 2 or c.ndim != 2 or r.shape[1] != c.shape[1] or r.shape[1] < 2:
        raise ValueError(f"both sides need scores [launches, items] of the same items, not shapes {r.shape}, {c.shape}")
    if not (np.isfinite(r).all() and np.isfinite(c).all()):
        raise ValueError("a score is not a finite number")
    fixed = all(float(np.ptp(side, axis=0).max()) == 0.0 for side in (r, c))
    means = c[0] - r[0] if fixed else c.mean(axis=0) - r.mean(axis=0)
    items = of_items(means, confidence, largest_change, clusters, fixed=fixed)
    return decision(items, _launches(r.mean(axis=1), c.mean(axis=1), confidence, fixed=fixed), margin, confidence)


def _launches(reference: Array, candidate: Array, confidence: float, *, fixed: bool) -> Launches:
    """The launches' part; infinite for a single launch, 0 if no launch differs."""
    sides = (reference, candidate)
    counts = tuple(len(side) for side in sides)
    method = f"{counts[0]} and {counts[1]} launches, not paired (Welch)"
    parts = [(float(side.var(ddof=1)) / len(side) if len(side) > 1 else math.inf, len(side)) for side in sides]
    total = 0.0 if fixed and min(counts) > 1 else sum(part for part, _ in parts)
    half = total
    if 0.0 < total < math.inf:
        df = total**2 / sum(part**2 / (k - 1) for part, k in parts)
        half = t_quantile(confidence, df) * math.sqrt(total)
    return Launches(count=min(counts), half=half, error=math.sqrt(total), method=method)
