"""Was quality measured in the very launches that were timed, and did it hold?

A faster run that gives a worse model is another task.  Claims: a speed without quality, quality from other runs, a loss beyond the
margin, or so few items that no margin of that size can be shown even without a single change (quality.md 3.2).  Records take quality
from the timed launches themselves; the gate `quality` and the audit `quality_loss` judge it.
"""

from __future__ import annotations

from assay.metrics.base import WORKLOADS, Results
from assay.metrics.estimate import Absent
from assay.metrics.format import count, given
from assay.metrics.measured import Measured
from assay.spec.claim import Claim, ClaimedQuality
from assay.stats.noninferiority import zero_flip_bound
from assay.verdict.audits.base import Audit
from assay.verdict.audits.claimed import found, is_quality, speeds
from assay.verdict.types import Finding

CONFIDENCE = 0.95
MEND = "score held-out items in the launches that are timed, and write the margin down beforehand"


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """Nothing of its own: a record's quality is that of its timed launches."""
    return ()


def blind(measured: Measured, results: Results) -> str | None:
    """No score, no answer."""
    value = results.get("quality", {}).get(measured.base)
    return value.detail if isinstance(value, Absent) else None if value is not None else "quality was not computed"


def claim(said: Claim) -> tuple[Finding, ...]:
    """What was said about quality beside a speed."""
    fast = speeds(said)
    if not fast:
        return ()
    if said.quality is None:
        if any(is_quality(number) for number in said.number):
            return _unsure()
        return (found(
            "quality_not_measured", "warning", fast[0], "nothing is said about the quality of the faster result", MEND, "quality"
        ),)  # fmt: skip
    findings = [*_elsewhere(said.quality), *_lost(said.quality), *_too_few(said.quality)]
    return tuple(findings)


def _unsure() -> tuple[Finding, ...]:
    return (found(
        "quality_unsaid", "note", None, "the claim gives scores, and does not say whether they come from the timed launches",
        "add [quality] with same_launches and margin", "quality",
    ),)  # fmt: skip


def _elsewhere(quality: ClaimedQuality) -> list[Finding]:
    if quality.same_launches is False:
        return [found(
            "quality_of_other_runs", "invalid", None, f"{quality.metric} was measured in other runs than the times", MEND, "quality"
        )]  # fmt: skip
    unsaid = [
        words
        for words, value in (
            ("whether it comes from the timed launches", quality.same_launches),
            ("which loss counts as equal (margin)", quality.margin),
            ("the baseline's score", quality.baseline),
            ("the candidate's score", quality.candidate),
        )
        if value is None
    ]
    if not unsaid:
        return []
    return [found(
        "quality_unsaid", "note", None, f"of {quality.metric} the claim does not say {', '.join(unsaid)}", MEND, "quality"
    )]  # fmt: skip


def _lost(quality: ClaimedQuality) -> list[Finding]:
    if quality.baseline is None or quality.candidate is None or quality.margin is None:
        return []
    loss = quality.baseline - quality.candidate
    loss = loss if quality.direction == "higher" else -loss
    if loss <= quality.margin * (1.0 + 1e-9):
        return []
    return [found(
        "quality_lost", "invalid", None,
        f"{quality.metric} went from {given(quality.baseline)} to {given(quality.candidate)}; the margin is {given(quality.margin)}",
        "mend the loss first (learning rate, warm-up, batch), then time it again", "quality",
    )]  # fmt: skip


def _too_few(quality: ClaimedQuality) -> list[Finding]:
    if quality.items is None or quality.margin is None or quality.metric.casefold() != "accuracy":
        return []
    least = zero_flip_bound(quality.items, CONFIDENCE)
    margin = quality.margin if quality.margin < 1.0 else quality.margin / 100.0  # in points
    if least <= margin:
        return []
    return [found(
        "quality_items_too_few", "warning", None,
        f"{count(quality.items, 'items')} bound a change by {given(least, 2)} at best, even if no answer changed; the margin is {given(margin)}",
        "score more items, or claim a wider margin", "quality",
    )]  # fmt: skip


AUDIT = Audit(
    name="quality_unmeasured", title="quality not measured in the same launch",
    question="Was quality measured in the very launches that were timed, and did it hold?",
    examine=examine, claim=claim, blind=blind, about=WORKLOADS,
)  # fmt: skip
