"""Was quality measured, can the measure show a loss, and was there one?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count, given
from fireassay.frames.quality_floor import at_floor
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.metrics.quality import scores_of
from fireassay.stats.comparing.tango import zero_flip_bound
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, improved
from fireassay.verdict.gates import quality
from fireassay.verdict.stated.kinds import is_quality
from fireassay.verdict.stated.scores import confusion, direction_contradicts, is_proportion, lower_is_better, of_number, scale
from fireassay.verdict.types import QUALITY_AT_FLOOR, Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, ClaimedQuality


# ---- quality unmeasured ----

QUALITY_UNMEASURED_CONFIDENCE = 0.95
QUALITY_UNMEASURED_REMEDY = "score held-out items in the timed launches, and write the margin down beforehand"


def examine_quality_unmeasured(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Nothing: a record's quality is that of its timed launches.

    A faster run with a worse model is another task. Claims: a speed (or a cost below another system's) without quality, with quality from
    other runs, with a loss beyond the margin or without a margin, or with too few items to support the margin even without a single change
    (non-inferiority with no flips: n >= ln(alpha)/ln(1 - margin)). Records measure quality in the timed launches; the gate `quality` and
    the audit `quality_loss` judge it.
    """
    return ()


def blind_quality_unmeasured(measured: RecordData, results: Results) -> str | None:
    """Blind without a score."""
    value = results.get("quality", {}).get(measured.base)
    return value.detail if isinstance(value, Absent) else None if value is not None else "quality was not computed"


def claim_quality_unmeasured(said: Claim) -> tuple[Finding, ...]:
    """The quality stated beside a speed or a lower cost."""
    better = improved(said)
    if not better:
        return ()
    in_numbers = tuple(_lost_in_numbers(said))
    if said.quality is not None:
        return (*_elsewhere(said.quality), *_lost(said.quality), *_too_few(said.quality), *in_numbers)
    if in_numbers:
        return in_numbers
    if any(is_quality(number) for number in said.number):
        return _unsure()
    evidence = "nothing is said about the quality of the faster or cheaper result"
    return (found("quality_not_measured", "warning", better[0], evidence, QUALITY_UNMEASURED_REMEDY, "quality"),)


def _unsure() -> tuple[Finding, ...]:
    evidence = "the claim gives scores, and does not say whether they come from the timed launches"
    return (found("quality_unsaid", "note", None, evidence, "add [quality] with same_launches and margin", "quality"),)


def _elsewhere(quality: ClaimedQuality) -> list[Finding]:
    if quality.same_launches is False:
        evidence = f"{quality.metric} was measured in other runs than the times"
        return [found("quality_of_other_runs", "invalid", None, evidence, QUALITY_UNMEASURED_REMEDY, "quality")]
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
    return [
        found(
            "quality_unsaid",
            "note",
            None,
            f"for {quality.metric}, the claim does not say {', '.join(unsaid)}",
            QUALITY_UNMEASURED_REMEDY,
            "quality",
        )
    ]


def _lost(quality: ClaimedQuality) -> list[Finding]:
    if direction_contradicts(quality):
        evidence = f'quality.direction = "{quality.direction}" contradicts the meaning of {quality.metric}'
        remedy = "leave quality.direction out, or name the score as it was published"
        return [found("direction_contradicts_metric", "warning", None, evidence, remedy, "quality")]
    if quality.baseline is None or quality.candidate is None or confusion(quality):
        return []  # `units` reports scores on two scales
    loss = quality.candidate - quality.baseline if lower_is_better(quality) else quality.baseline - quality.candidate
    change = f"{quality.metric} went from {given(quality.baseline)} to {given(quality.candidate)}"
    if loss > 0.0 and quality.margin is None:
        evidence = f"{change}, and no quality.margin allows such a loss"
        remedy = "state the margin that was written down beforehand, or fix the loss and time it again"
        return [found("quality_lost_without_margin", "warning", None, evidence, remedy, "quality")]
    if quality.margin is None or loss <= quality.margin * (1.0 + 1e-9):
        return []
    evidence = f"{change}; the margin is {given(quality.margin)}"
    remedy = "fix the loss first (learning rate, warm-up, batch), then time it again"
    return [found("quality_lost", "invalid", None, evidence, remedy, "quality")]


def _lost_in_numbers(said: Claim) -> Iterator[Finding]:
    """Scores given as numbers, with their baseline's."""
    for number in filter(is_quality, said.number):
        same = said.quality is not None and said.quality.metric == number.metric
        score = of_number(number, said.quality.margin if same and said.quality is not None else None)
        yield from _lost(score) if score is not None else []


def _too_few(quality: ClaimedQuality) -> list[Finding]:
    score_scale = scale(quality)
    if quality.items is None or quality.margin is None or score_scale is None or not is_proportion(quality.metric):
        return []
    least = zero_flip_bound(quality.items, QUALITY_UNMEASURED_CONFIDENCE) * (100.0 if score_scale == "points" else 1.0)
    if least <= quality.margin:
        return []
    unit = " points" if score_scale == "points" else ""
    evidence = (
        f"{count(quality.items, 'items')} bound a change by {given(least, 2)}{unit} at best, even if no answer changed; "
        f"the margin is {given(quality.margin)}{unit}"
    )
    return [found("quality_items_too_few", "warning", None, evidence, "score more items, or claim a wider margin", "quality")]


# ---- quality loss ----


def examine_quality_loss(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One warning per configuration shown to be worse than the margin allows.

    Lists a failed quality gate as a finding, beside lost samples and diverged replicas. A warning for the record: this configuration is
    rejected, the others stand.
    """
    return tuple(
        Finding("quality_degraded", "warning", gate.configuration, gate.sentence, measured.kind.quality_remedy)
        for gate in quality.GATE.check(measured, results)
        if gate.status == "FAIL"
    )


# ---- quality at floor ----

QUALITY_AT_FLOOR_REMEDY: Final = (
    "examine the reference's answers (table examples or requests): the extraction, the prompts or the model is broken, or the margin is too "
    "wide; then measure again"
)


def examine_quality_at_floor(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding, on the base.

    The base passes the gate `quality` by definition. If it gets nothing right, does no better than guessing, gives empty answers, or
    exceeds chance by no more than the margin, everything else passes too: INVALID (`fireassay.frames.quality_floor`). Cannot tell: a task's
    chance level, unless quality.chance gives it.
    """
    quality = measured.experiment.quality
    if quality is None:
        return ()
    why = at_floor(scores_of(measured, measured.base), quality) or _unanswered(measured)
    if why is None:
        return ()
    return (
        Finding(QUALITY_AT_FLOOR, "invalid", measured.base, f"the reference cannot show a loss of quality: {why}", QUALITY_AT_FLOOR_REMEDY),
    )


def _unanswered(measured: RecordData) -> str | None:
    """Under load: whether every question with a reference answer was left unanswered."""
    launches = measured.timed.filter(pl.col("configuration") == measured.base).select("launch")
    questions = measured.table("arrivals").filter((pl.col("kind") == "normal") & pl.col("expected").is_not_null())
    sent = measured.table("requests").join(questions.select("launch", "request"), on=["launch", "request"], how="semi")
    requests = sent.join(launches, on="launch", how="semi")
    if requests.height == 0 or requests.filter((pl.col("status") == "ok") & pl.col("text").is_not_null()).height:
        return None
    return f"none of {count(requests.height, 'questions')} was answered with text"


AUDITS = (
    Audit(
        name="quality_unmeasured",
        title="quality not measured in the same launch",
        question="Was quality measured in the timed launches, and did it hold?",
        examine=examine_quality_unmeasured,
        claim=claim_quality_unmeasured,
        blind=blind_quality_unmeasured,
        about=WORKLOADS,
    ),
    Audit(
        name="quality_loss",
        title="worse model",
        question="Which configurations gave a worse model?",
        examine=examine_quality_loss,
        about=WORKLOADS,
    ),
    Audit(
        name="quality_at_floor",
        title="reference at its floor",
        question="Is the reference's quality high enough to show a loss?",
        examine=examine_quality_at_floor,
        about=WORKLOADS,
    ),
)
