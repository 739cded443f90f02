"""Do the scores of the same items differ at all, and by which share of the reference's?

Student's paired t-test of the items' differences d = after - before: t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom, both sides (as
`scipy.stats.ttest_rel`).  Relative drop: (mean before - mean after) / mean before.

This is the test of textbooks, and no decision here: a large p is no evidence of equality, since few items show little, and a small one says
nothing of how much was lost.  A margin decides (`noninferiority`).  Cannot tell: anything of items that depend on each other, which it takes as
independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIGNIFICANT: Final = 0.05
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """The test of `items` differences. `relative_drop`: of the reference's mean, better is lower; None: that mean is not above 0."""

    t: float
    p: float
    items: int
    before: float
    relative_drop: float | None

    @property
    def significant(self) -> bool:
        """True if p is below 5 %."""
        return self.p < SIGNIFICANT


def paired_t(before: Array, after: Array, *, lower: bool = False) -> PairedTest | None:
    """The paired t-test of scores of shape [items]; None: fewer than two items, no item differs, or a score is not finite.

    `lower`: a lower score is better, so that a rise is the drop.

    Raises:
        ValueError: the sides have different shapes.
    """
    if before.shape != after.shape:
        raise ValueError(f"both sides must score the same items, not {before.shape} and {after.shape}")
    changes = after - before
    if len(changes) < 2 or not bool(np.isfinite(changes).all()) or not bool(np.any(changes)):
        return None
    from scipy.special import stdtr

    mean, spread = float(changes.mean()), float(changes.std(ddof=1))
    t = mean / (spread / math.sqrt(len(changes))) if spread > 0.0 else math.copysign(math.inf, mean)
    base, drop = float(before.mean()), mean if lower else -mean
    return PairedTest(
        t=t,
        p=float(2.0 * stdtr(len(changes) - 1, -abs(t))),
        items=len(changes),
        before=base,
        relative_drop=drop / base if base > 0.0 else None,
    )
