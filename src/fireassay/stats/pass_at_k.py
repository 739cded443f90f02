"""How often is at least one of k programs right, over problems like these?

Of n programs for a problem c are right: 1 - C(n-c, k)/C(n, k) = 1 - prod over i = n-c+1 ... n of (1 - k/i), the unbiased estimate
(Chen et al., arXiv:2107.03374); 1 - (1 - c/n)^k is too low.  The score is its mean over problems.  Programs of one problem share its difficulty, so
problems are the units: the bounds are Gaffke's of a mean between 0 and 1 (`bounded_mean`).  Student's t falls short where problems are few or
mostly solved or mostly not: of 20 problems it covers 65 to 98 %, Gaffke's at least 95 % (`benchmarks/sandbox.py`).
Cannot tell: anything about problems of another sort, or whether the programs were known by heart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fireassay.stats.intervals.bounded_mean import Units, lower, upper
from fireassay.stats.intervals.intervals import Interval


@dataclass(frozen=True, kw_only=True)
class Solved:
    """One problem: how many programs were judged, and how many of them are right."""

    samples: int
    right: int


def pass_at_k(solved: Solved, k: int) -> float:
    """The probability that k programs drawn from these, without repetition, hold a right one.

    Raises:
        ValueError: fewer than k programs, or impossible counts.
    """
    if not (0 <= solved.right <= solved.samples and 1 <= k <= solved.samples):
        raise ValueError(
            f"pass@{k} needs at least {k} programs of which between none and all are right, not {solved.right} of {solved.samples}"
        )
    return 1.0 - math.prod(1.0 - k / i for i in range(solved.samples - solved.right + 1, solved.samples + 1))


def of_problems(problems: Sequence[Solved], k: int, confidence: float) -> Interval:
    """Mean over problems, two-sided bounds."""
    values = np.array([pass_at_k(solved, k) for solved in problems])
    units = Units(totals=values, sizes=np.ones(len(values)))
    side = (1.0 + confidence) / 2.0
    return Interval(value=units.mean, low=lower(units, 0.0, side), high=upper(units, 1.0, side))
