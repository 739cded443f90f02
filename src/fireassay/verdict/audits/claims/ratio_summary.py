"""Were ratios averaged?

The mean of speedups over workloads is not a speedup of anything: average costs arithmetically, take rates as total work over total time,
and do not average ratios (Hoefler & Belli, SC'15, rules 3 and 4). The same holds for percentages of percentages. assay forms every ratio
once, from two estimates of one block, and refuses means of ratios, so this concerns claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.estimates.format import count
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

REMEDY = "publish the times of every workload on both sides, or the total work over the total time"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Means without a meaning."""
    return tuple(finding for number in said.number if number.summary is not None for finding in _summary(number))


def _summary(number: Number) -> list[Finding]:
    assert number.summary is not None
    of, mean, workloads = number.summary.of, number.summary.mean, number.summary.workloads
    over = f" over {count(workloads, 'workloads')}" if workloads else ""
    if mean == "total" or (of == "times" and mean == "arithmetic") or (of == "rates" and mean == "harmonic"):
        return []
    if of in ("ratios", "percentages") and mean == "geometric":
        words, rule = f"a geometric mean of {of}{over} has no meaning in time or money", "geometric_mean_of_ratios"
        return [found(rule, "warning", number, words, REMEDY, "numerators")]
    rule = "mean_of_ratios" if of in ("ratios", "percentages") else "wrong_mean"
    evidence = f"an {mean} mean of {of}{over}".replace("an geo", "a geo").replace("an har", "a har")
    return [found(rule, "invalid", number, evidence, REMEDY, "numerators")]


AUDIT = Audit(name="ratio_summary", title="summary of ratios", question="Were ratios averaged?", examine=claims_only, claim=claim)
