"""Was quality measured, can the measure show a loss, and was there one?"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.scores import at_floor
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.metrics.quality import scores_of
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.gates import quality
from fireassay.verdict.types import QUALITY_AT_FLOOR, Finding

# ---- quality unmeasured ----


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
    exceeds chance by no more than the margin, everything else passes too: INVALID (`fireassay.frames.scores`). Cannot tell: a task's
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
        "quality_unmeasured",
        "Was quality measured in the timed launches, and did it hold?",
        examine_quality_unmeasured,
        title="quality not measured in the same launch",
        about=WORKLOADS,
        blind=blind_quality_unmeasured,
    ),
    Audit("quality_loss", "Which configurations gave a worse model?", examine_quality_loss, title="worse model", about=WORKLOADS),
    Audit(
        "quality_at_floor",
        "Is the reference's quality high enough to show a loss?",
        examine_quality_at_floor,
        title="reference at its floor",
        about=WORKLOADS,
    ),
)
