"""Were launches added until the intervals were narrow, and what did that cost them?

With `launches.precision` the number of launches depends on what they gave.  Looking at an interval several times and
stopping when it is narrow makes a plain 95 % interval hold less often than in 95 % of experiments; every interval is
therefore made at a higher confidence, and this says so in every report (`assay.stats.comparing.sequential`).  It also says why no
further launches were made: intervals that are wider than asked for are no failure, but they must not pass for narrow.
"""

from __future__ import annotations

from assay.estimates.format import count, reading
from assay.frames.record_data import Measured
from assay.metrics.base import EVERYTHING, Results
from assay.units import FRACTION
from assay.verdict.audits.support.audit import Audit
from assay.verdict.types import Finding

WHY_NOT = {
    "at_most": ("launches.at_most was reached", "raise launches.at_most, or be content with a wider launches.precision"),
    "budget": ("limits.experiment_timeout_s was over", "raise limits.experiment_timeout_s, or be content with a wider launches.precision"),
    "failed": ("the launches failed", "mend what the failed launches say"),
}


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """What the looking did to the confidence; a warning if the intervals are wider than asked for."""
    if not measured.looks:
        return ()
    ended = str(measured.manifest.get("looks_ended", ""))
    return (_paid(measured), *_too_wide(measured, ended))


def _paid(measured: Measured) -> Finding:
    asked, made = measured.experiment.launches.confidence, measured.confidence
    looks = count(len(measured.looks), "looks")
    return Finding(
        rule="looks",
        severity="note",
        configuration=None,
        evidence=f"launches were added until the intervals were narrow ({looks}); every interval is made at "
        f"{reading(made, FRACTION)}, so that {reading(asked, FRACTION)} hold however often was looked",
        remedy="nothing: this is what the looking costs; a fixed number of launches needs no such allowance",
    )


def _too_wide(measured: Measured, ended: str) -> tuple[Finding, ...]:
    if ended not in WHY_NOT:
        return ()
    why, remedy = WHY_NOT[ended]
    return (
        Finding(
            rule="precision_not_reached",
            severity="warning",
            configuration=None,
            evidence=f"{why} before the intervals were as narrow as asked for: {measured.looks[-1]['sentence']}",
            remedy=remedy,
        ),
    )


AUDIT = Audit(
    name="looks",
    title="optional stopping",
    question="Were launches added until the intervals were narrow?",
    examine=examine,
    about=EVERYTHING,
)
