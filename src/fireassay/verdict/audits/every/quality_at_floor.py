"""Is the reference's quality high enough to show a loss?

The base passes the gate `quality` by definition. If it gets nothing right, does no better than guessing, gives empty answers, or exceeds
chance by no more than the margin, everything else passes too: INVALID (`fireassay.frames.quality_floor`). Cannot tell: a task's chance level,
unless quality.chance gives it.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.quality_floor import at_floor
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.metrics.quality import scores_of
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import QUALITY_AT_FLOOR, Finding

REMEDY: Final = (
    "examine the reference's answers (table examples or requests): the extraction, the prompts or the model is broken, or the margin is too "
    "wide; then measure again"
)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding, on the base."""
    quality = measured.experiment.quality
    if quality is None:
        return ()
    why = at_floor(scores_of(measured, measured.base), quality) or _unanswered(measured)
    if why is None:
        return ()
    return (Finding(QUALITY_AT_FLOOR, "invalid", measured.base, f"the reference cannot show a loss of quality: {why}", REMEDY),)


def _unanswered(measured: RecordData) -> str | None:
    """Under load: whether every question with a reference answer was left unanswered."""
    launches = measured.timed.filter(pl.col("configuration") == measured.base).select("launch")
    questions = measured.table("arrivals").filter((pl.col("kind") == "normal") & pl.col("expected").is_not_null())
    sent = measured.table("requests").join(questions.select("launch", "request"), on=["launch", "request"], how="semi")
    requests = sent.join(launches, on="launch", how="semi")
    if requests.height == 0 or requests.filter((pl.col("status") == "ok") & pl.col("text").is_not_null()).height:
        return None
    return f"none of {count(requests.height, 'questions')} was answered with text"


AUDIT = Audit(
    name="quality_at_floor",
    title="reference at its floor",
    question="Is the reference's quality high enough to show a loss?",
    examine=examine,
    about=WORKLOADS,
)
