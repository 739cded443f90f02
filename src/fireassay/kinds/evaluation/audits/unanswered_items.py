"""Were so many items not answered that the score says little?

A failed request or a missing answer is neither right nor wrong.  Beyond evaluation.most_failed the items that are left are another sample.
The finding bounds the score: as if every missing item were wrong, and as if every one were right.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.evaluation.item_scores import answers_of, item_scores, requested, tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

REMEDY = "find out why they failed, then evaluate again"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with failures."""
    evaluation = measured.experiment.evaluation
    assert evaluation is not None
    for configuration in measured.configurations:
        asked = answers_of(measured, configuration)
        failed = asked.filter(pl.col("outcome") != "ok")
        if failed.height == 0:
            continue
        too_many = failed.height > evaluation.most_failed * asked.height
        yield Finding(
            rule="unanswered_items",
            severity="invalid" if too_many else "warning",
            configuration=configuration,
            evidence=f"{failed.height:,} of {count(asked.height, 'items')} were not answered ({_kinds(failed)})"
            f"{_allowed(evaluation.most_failed) if too_many else ''}{_bounds(measured, configuration, asked.height)}",
            remedy=REMEDY,
        )


def _kinds(failed: pl.DataFrame) -> str:
    counts = failed.group_by("outcome").len().sort("len", descending=True)
    return ", ".join(f"{number:,} {outcome}" for outcome, number in counts.iter_rows())


def _allowed(most: float) -> str:
    return f", more than {percent(most)}"


def _bounds(measured: RecordData, configuration: str, asked: int) -> str:
    """The score if every missing item had the lowest, or the highest score."""
    names = requested(measured)
    scored = [item_scores(measured, configuration, task, names[0]) for task in tasks(measured)] if names else []
    if len(scored) != 1 or scored[0].metric.corpus or not scored[0].items:
        return ""
    (scores,) = scored
    low, high = scores.metric.scale
    left = max(0, asked - len(scores.items))
    if not high - low < float("inf"):
        return ""
    total = float(scores.rows[:, 0].sum())
    return f"; {scored[0].metric.title} lies between {(total + left * low) / asked:.3f} and {(total + left * high) / asked:.3f} whatever they were"


AUDIT = Audit(
    name="unanswered_items",
    title="failures counted as answers",
    question="Were so many items not answered that the score says little?",
    examine=examine,
    about=("evaluation",),
)
