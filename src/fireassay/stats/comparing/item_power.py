"""How many items does a margin need, and which margin can so many items support?

For items that are right or wrong, of which a share psi changes between the sides (flips), with power 80 % if there is no true change:
the expected bound of the test itself (Tango's with the exact rules, `tango`) plus z[power] sqrt(psi / n) is at most m; few flips are
counted exactly, table by table.  That is more than (z[1 - alpha] + z[power])^2 psi / m^2 (Lu and Bean, Statistics in Medicine 14, 1995),
whose power falls short of 80 %, and never less than the items that show the margin without a flip, ln(alpha) / ln(1 - m).
Other items (graded scores, means of several answers, clusters, weights) are decided by Gaffke's bound (`bounded_mean`), so its expected
value is planned with: of C units whose means vary by v (1 + (b - 1) rho) u / b, and one more of the largest size at the worst.  There v is the
variance of an item's change (its mean square; for flips psi), b the mean items of a cluster, rho their intraclass correlation, 1 + (b - 1) rho
the design effect, and u = mean(w^2) / mean(w)^2 of the weights (Kish, "Survey Sampling", 1965).  For clusters the design effect alone plans
far too few: 422 items in tens that need 940 had a power of 7 %.
Cannot tell: the share of flips before anybody has measured it; the reference side asked twice shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from fireassay.stats.comparing.noninferiority import POWER, flips_lower, items_needed_without_flips, tango_lower, zero_flip_bound
from fireassay.stats.intervals import bounded_mean
from fireassay.stats.intervals.intervals import smallest, t_quantile

MAX_EXACT: Final = 40.0  # expected flips up to which every table is counted
GROWTH: Final = 1.02
PLANNED: Final = 0.81  # where power is not counted exactly: the spread that is found varies, and costs up to a point


@dataclass(frozen=True, kw_only=True)
class ItemPower:
    """What a number of items can show."""

    items: int
    needed: int  # for the margin, at 80 % power
    power: float  # for the margin, if there is no true change
    supported_margin: float  # at 80 % power

    @property
    def enough(self) -> bool:
        """True if the items are as many as needed."""
        return self.items >= self.needed


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """What the items are whose bound is Gaffke's; as it stands independent ones of equal weight."""

    size: float = 1.0  # mean number of items of a cluster
    largest: float = 1.0  # items of the largest cluster; of weights the largest over the mean
    correlation: float = 0.0  # how far items of a cluster change together
    uneven: float = 1.0  # mean(w^2) / mean(w)^2

    def __post_init__(self) -> None:
        if not (self.size >= 1.0 and self.largest >= 1.0 and 0.0 <= self.correlation <= 1.0 and self.uneven >= 1.0):
            raise ValueError(f"sizes must be at least 1 and a correlation within 0..1, not {self}")

    @property
    def effect(self) -> float:
        """How much larger the variance of a mean is than that of as many independent items."""
        return design_effect(self.size, self.correlation) * self.uneven


def item_power(items: int, margin: float, flips: float, confidence: float, grouping: Grouping | None = None) -> ItemPower:
    """What `items` can show of a `margin` if a share `flips` of them changes; with a grouping, if their changes have this mean square.

    Raises:
        ValueError: a share or the margin is not within 0..1.
    """
    if items < 1 or not 0.0 < margin < 1.0 or not 0.0 <= flips <= 1.0:
        raise ValueError(f"items {items}, margin {margin}, flips {flips}")
    if grouping is not None:
        return _grouped(items, margin, flips, confidence, grouping)
    needed, supported = _independent(margin, flips, confidence), supported_margin(items, flips, confidence)
    return ItemPower(items=items, needed=needed, power=_power(margin, flips, items, confidence), supported_margin=supported)


def _grouped(items: int, margin: float, variance: float, confidence: float, grouping: Grouping) -> ItemPower:
    """With Gaffke's bound."""

    def parts(count: float) -> tuple[float, float]:
        """How far the bound lies below 0, and the standard error."""
        units, error = count / grouping.size, math.sqrt(variance * grouping.effect / count)
        return bounded_mean.expected_half_width(units, error * math.sqrt(units), grouping.largest / grouping.size, confidence), error

    def power(count: float) -> float:
        bound, error = parts(count)
        return _normal((margin - bound) / error) if error > 0.0 else float(bound < margin)

    least = max(2, math.ceil(2.0 * grouping.size))
    bound, error = parts(max(items, least))
    return ItemPower(
        items=items,
        needed=smallest(least, lambda count: power(count) >= PLANNED),
        power=power(max(items, least)),
        supported_margin=bound + t_quantile(POWER, math.inf) * error,
    )


def supported_margin(items: float, flips: float, confidence: float) -> float:
    """The smallest margin that so many independent items show at 80 % power, if a share `flips` of them changes."""
    bound, error = _bound(flips, items, confidence), math.sqrt(flips / items)
    return bound + t_quantile(POWER, math.inf) * error


def _independent(margin: float, flips: float, confidence: float) -> int:
    """Independent items for the margin."""
    least = items_needed_without_flips(margin, confidence)
    items = smallest(least, lambda n: _power(margin, flips, n, confidence, exact=False) >= PLANNED)
    while _power(margin, flips, items, confidence) < POWER:
        items = math.ceil(items * GROWTH)
    return items


def _power(margin: float, flips: float, items: float, confidence: float, *, exact: bool = True) -> float:
    """Probability that the bound lies above -margin without a true change: exact for few flips, else normal."""
    n = max(1, int(items))
    if exact and flips * n <= MAX_EXACT:
        return _exact_power(margin, flips, n, confidence)
    bound, error = _bound(flips, items, confidence), math.sqrt(flips / items)
    return _normal((margin - bound) / error) if error > 0.0 else float(bound < margin)


def _exact_power(margin: float, flips: float, n: int, confidence: float) -> float:
    """Sum over every table of lost and won items: the number of flips is binomial, and each is lost or won with even chances."""
    from scipy.stats import binom

    total = 0.0
    for count in range(min(n, int(binom.isf(1e-6, n, flips)) if flips > 0.0 else 0) + 1):
        lost = next((b for b in range(count, -1, -1) if flips_lower(b, count - b, n, confidence) > -margin), -1)
        total += float(binom.pmf(count, n, flips) * binom.cdf(lost, count, 0.5)) if lost >= 0 else 0.0
    return total


def _bound(flips: float, items: float, confidence: float) -> float:
    """How far the lower bound lies below 0 if as many items of `items` were won as lost."""
    n = max(1, int(items))
    each = flips * n / 2.0
    return max(-tango_lower(each, each, n, confidence), zero_flip_bound(n, confidence))


def design_effect(size: float, correlation: float) -> float:
    """1 + (mean size - 1) x correlation."""
    return 1.0 + (size - 1.0) * correlation


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
