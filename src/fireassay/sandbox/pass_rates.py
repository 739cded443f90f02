"""How often is one of k programs right, from the verdicts on several programs for each problem?

Verdicts that say nothing (`INVALID`, or None: not reached) are left out; a problem with fewer than k others has no estimate and is counted apart.
Cannot tell: whether what is missing would have been right; where much is missing, the score is one of other problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fireassay.sandbox.outcomes import CodeResult
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.pass_at_k import Solved, of_problems


@dataclass(frozen=True, kw_only=True)
class PassRate:
    """pass@k with its interval over problems; None: no problem has k verdicts."""

    k: int
    interval: Interval | None
    problems: int  # with at least k verdicts
    missing: tuple[str, ...]  # problems with fewer


def pass_rate(results: Mapping[str, Sequence[CodeResult | None]], k: int, confidence: float = 0.95) -> PassRate:
    """pass@k of results by problem."""
    solved = {name: _solved(those) for name, those in results.items()}
    enough = [one for one in solved.values() if one.samples >= k]
    return PassRate(
        k=k,
        interval=of_problems(enough, k, confidence) if enough else None,
        problems=len(enough),
        missing=tuple(name for name, one in solved.items() if one.samples < k),
    )


def _solved(results: Sequence[CodeResult | None]) -> Solved:
    scores = [result.score for result in results if result is not None and result.score is not None]
    return Solved(samples=len(scores), right=round(sum(scores)))
