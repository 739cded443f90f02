"""Were launches added until the intervals were narrow, and at what cost in confidence?

With `launches.precision` the number of launches depends on their results. Stopping at an interim analysis once the interval is narrow makes
plain 95 % intervals cover less than 95 % of the time; intervals are therefore computed at a higher confidence level, and every report says
so (`fireassay.stats.comparing.sequential`). It also reports why launching stopped: intervals wider than requested are no failure, but must not
pass for narrow.
"""

from __future__ import annotations

from fireassay.estimates.format import reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import FRACTION
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

WHY_NOT = {
    "at_most": ("launches.at_most was reached", "raise launches.at_most, or accept a wider launches.precision"),
    "budget": ("limits.experiment_timeout_s elapsed", "raise limits.experiment_timeout_s, or accept a wider launches.precision"),
    "failed": ("the launches failed", "fix what the failed launches report"),
}


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """The effect of interim analyses on the confidence level; a warning if intervals are wider than requested."""
    if not measured.looks:
        return ()
    ended = str(measured.manifest.get("looks_ended", ""))
    return (_paid(measured), *_too_wide(measured, ended))


def _paid(measured: RecordData) -> Finding:
    requested, reported = measured.experiment.launches.confidence, measured.confidence
    analyses = "1 interim analysis" if len(measured.looks) == 1 else f"{len(measured.looks)} interim analyses"
    evidence = (
        f"launches were added until the intervals were narrow ({analyses}); every interval is computed at "
        f"{reading(reported, FRACTION)}, so that {reading(requested, FRACTION)} coverage holds across all of them"
    )
    remedy = "nothing: this is the price of interim analyses; a fixed number of launches needs no such allowance"
    return Finding("looks", "note", None, evidence, remedy)


def _too_wide(measured: RecordData, ended: str) -> tuple[Finding, ...]:
    if ended not in WHY_NOT:
        return ()
    why, remedy = WHY_NOT[ended]
    evidence = f"{why} before the intervals were as narrow as requested: {measured.looks[-1]['sentence']}"
    return (Finding("precision_not_reached", "warning", None, evidence, remedy),)


AUDIT = Audit(
    name="looks",
    title="optional stopping",
    question="Were launches added until the intervals were narrow?",
    examine=examine,
    about=EVERYTHING,
)
