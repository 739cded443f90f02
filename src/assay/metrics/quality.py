"""How good is the trained model on the held-out examples?

quality = mean score over the held-out examples of a launch, for the metric that the experiment names; then over
launches.  The interval says how the mean moves between launches; the set of examples is taken as given.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.answers import SCORED
from assay.metrics.base import WORKLOADS, Metric, Results
from assay.metrics.estimate import Absent, Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import average, no_launch
from assay.units import SCORE

NOT_ASKED = Absent(
    reason="not_measured", detail="the experiment names no quality metric; add [quality] metric and margin"
)

NO_REFERENCE = Absent(
    reason="not_measured",
    detail="no answer was kept whose prompt has a reference answer; give serving.prompts.answer_field and client.keep_text",
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Mean score per configuration."""
    if measured.experiment.quality is None:
        return dict.fromkeys(measured.configurations, NOT_ASKED)
    means = scores(measured).group_by("launch").agg(pl.col("score").mean().alias("value"), pl.len().alias("examples"))
    joined = measured.timed.join(means, on="launch", how="left").sort("block")
    return {name: _one(measured, joined, name) for name in measured.configurations}


def scores(measured: Measured) -> pl.DataFrame:
    """(launch, example, score) of the metric that decides."""
    return measured.scores


def missing_scores(measured: Measured) -> Absent:
    """Why there is no score: nothing reported, or reported under other names."""
    asked = measured.experiment.quality.metric if measured.experiment.quality else ""
    if measured.subject == "serving" and asked in SCORED:
        return NO_REFERENCE
    reported = sorted(measured.table("examples")["metric"].unique().to_list())
    if reported:
        return Absent(
            reason="not_measured", detail=f"no score named {asked!r} was reported; reported: {', '.join(reported)}"
        )
    return Absent(
        reason="not_measured", detail="the script scored no held-out examples; call probe.examples(ids, scores)"
    )


def _one(measured: Measured, joined: pl.DataFrame, configuration: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    present = rows.filter(pl.col("value").is_not_null())
    if present.height == 0:
        return missing_scores(measured)
    if not present["value"].is_finite().all():
        return Absent(reason="refused", detail="a score is not a finite number; mend the score that the script reports")
    return average(
        present["value"].to_list(), measured.confidence, unit=SCORE, name="quality",
        aggregate="mean score over the held-out examples", n_trials=int(present["examples"].sum()),
    )  # fmt: skip


METRIC = Metric(
    name="quality", title="Quality", unit=SCORE, kind="level", better="neither", dimension="correctness",
    formula="mean over held-out examples of the score", compute=compute, about=WORKLOADS, primary=True,
)  # fmt: skip
