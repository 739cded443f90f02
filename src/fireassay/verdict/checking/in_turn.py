"""What do the pairs made so far say, while two sides are still measured in turn?

The rule of `check` on one metric, at the confidence at which the comparison of two records with interim analyses is made
(`fireassay.stats.comparing.multiplicity`), so that stopping at a decision keeps the error: benchmarks/gate.py measures it.  A slowdown up to the
margin is tolerated: the margin is also the smallest effect of interest.
Cannot tell: why two sides differ, or what all pairs share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fireassay.metrics.metric import Better
from fireassay.stats.comparing.comparison import Difference, compare_paired, decide, scale_of
from fireassay.stats.comparing.multiplicity import comparison_confidence
from fireassay.verdict.checking.rows import state_of
from fireassay.verdict.checking.types import RowState

SIDES: Final = 2
MIN_PAIRS: Final = 3  # fewer decide nothing


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When a change counts as a regression, fixed before anything runs."""

    margin: float
    better: Better = "lower"
    confidence: float = 0.95
    floor: float = 0.0  # of the machine

    def now(self, base: Mapping[int, float], change: Mapping[int, float]) -> tuple[RowState, Difference | None]:
        """The state and the difference, from the values of the blocks that both have; None without a pair."""
        common = sorted(base.keys() & change.keys())
        if len(common) < MIN_PAIRS:
            return "inconclusive", None
        first, second = [base[block] for block in common], [change[block] for block in common]
        scale = scale_of(first, second)
        relative = scale == "ratio"
        confidence = comparison_confidence(self.confidence, SIDES)
        found = compare_paired(first, second, confidence, scale=scale, smallest_effect=self.margin if relative else None)
        limits = {"margin": self.margin, "smallest_effect": self.margin, "floor": self.floor} if relative else {}
        return state_of(found, decide(found, better=self.better, **limits), self.better), found
