"""How often is at least one of k programs right?  A metric for each k that the experiment names beyond 1.

Programs of one problem, in the same launch or in others, are its samples; the estimate and its bounds are those of
`fireassay.stats.pass_at_k`.  Fewer than k judged programs of some problem leave it unmeasured: another set of problems is another score.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.metrics import ABOUT
from fireassay.metrics.metric import Metric, Results
from fireassay.quality.scoring.metrics.programs import METRIC as PASSED
from fireassay.stats.pass_at_k import Solved, of_problems
from fireassay.units import SCORE

FIRST_RANK = 1800  # before the scores of texts


def of_record(measured: RecordData) -> Mapping[str, Metric]:
    """pass@k for each k above 1 that was asked for; none without judged programs."""
    evaluation = measured.experiment.evaluation
    asked = sorted({k for k in evaluation.k if k > 1}) if evaluation is not None and measured.foreign is None else []
    if not asked or measured.table("scores").filter(pl.col("metric") == PASSED.name).height == 0:
        return {}
    return {f"pass_at_{k}": _metric(k, FIRST_RANK + place) for place, k in enumerate(asked)}


def _metric(k: int, rank: int) -> Metric:
    return Metric(
        name=f"pass_at_{k}",
        title=f"pass@{k}",
        unit=SCORE,
        kind="level",
        better="higher",
        dimension="correctness",
        formula="mean over problems of 1 - C(n - c, k) / C(n, k)",
        compute=partial(_values, k=k),
        about=ABOUT,
        primary=True,
        question=f"How often is at least one of {k} programs right?",
        caveat=PASSED.caveat,
        rank=rank,
    )


def _values(measured: RecordData, _: Results, *, k: int) -> Mapping[str, Value]:
    return {name: _value(measured, name, k) for name in measured.configurations}


def _value(measured: RecordData, configuration: str, k: int) -> Value:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    if launches.height == 0:
        return no_launch(configuration)
    scores = measured.table("scores").filter((pl.col("metric") == PASSED.name) & pl.col("score").is_not_null())
    folded = scores.join(launches, on="launch", how="semi").group_by("task", "item").agg(pl.len(), pl.col("score").sum().alias("right"))
    problems = [Solved(samples=samples, right=round(right)) for _, _, samples, right in folded.sort("task", "item").iter_rows()]
    fewest = min((solved.samples for solved in problems), default=0)
    if len(problems) < 2 or fewest < k:
        detail = f"pass@{k} needs {k} judged programs of every problem; the fewest are {fewest}: set --repetitions {k} or more"
        return Absent(reason="insufficient", detail=detail)
    interval = of_problems(problems, k, measured.confidence)
    return Estimate(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        unit=SCORE,
        confidence=measured.confidence,
        n_launches=launches.height,
        n_trials=sum(solved.samples for solved in problems),
        method=f"unbiased estimate over {count(len(problems), 'problems')}: Gaffke's bounds",
        signature=f"pass_at_{k}|problems:{len(problems)}|v:1",
    )
