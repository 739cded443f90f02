"""Was quality held, compared with the base configuration?

Paired differences d[launch, example] = score(p) - score(base) of the same block and the same example; positive is
better whatever the direction of the score.  The interval is a pair of one-sided bounds that count both
launch-to-launch and example-to-example variation (two-way crossed effects; `assay.stats.noninferiority.crossed`).
Quality is held if the lower bound is above -margin; absence of a significant difference is not evidence of that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from assay.metrics.base import WORKLOADS, Metric, Results
from assay.metrics.estimate import Absent, Estimate, Value
from assay.metrics.format import count
from assay.metrics.measured import Measured
from assay.metrics.per_launch import no_launch
from assay.metrics.quality import NOT_ASKED, missing_scores, scores
from assay.stats.noninferiority import Decision, crossed
from assay.units import SCORE


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Difference to the base per configuration."""
    return {name: _value(measured, name) for name in measured.configurations}


def decide(measured: Measured, configuration: str) -> Decision | Absent:
    """The non-inferiority decision, with what would be needed where the data cannot decide."""
    quality = measured.experiment.quality
    if quality is None:
        return NOT_ASKED
    if configuration == measured.base:
        return Absent(reason="not_applicable", detail="this is the reference that the others are compared with")
    differences = paired_differences(measured, configuration)
    if isinstance(differences, Absent):
        return differences
    return crossed(differences, quality.margin, measured.confidence, _largest_change(measured))


def _largest_change(measured: Measured) -> float:
    """The most that one example's score could change: 1, or the range of the scores seen where that is more (0 to 100)."""
    seen = scores(measured)["score"]
    finite = seen.filter(seen.is_finite())
    return max(1.0, float(finite.max() - finite.min()))  # type: ignore[operator, arg-type]


def paired_differences(measured: Measured, configuration: str) -> np.ndarray | Absent:
    """[launches, examples] of score(p) - score(base), higher is better; Absent where nothing can be paired."""
    found = scores(measured)
    launches = measured.timed.select("launch", "configuration", "block")
    own = launches.filter(pl.col("configuration") == configuration)
    base = launches.filter(pl.col("configuration") == measured.base)
    if own.height == 0:
        return no_launch(configuration)
    if found.height == 0:
        return missing_scores(measured)
    mine = own.join(found, on="launch").select("block", "example", "score")
    theirs = base.join(found, on="launch").select("block", "example", pl.col("score").alias("reference"))
    pairs = mine.join(theirs, on=["block", "example"], how="full", coalesce=True)
    blocks = set(mine["block"].unique()) & set(theirs["block"].unique())
    pairs = pairs.filter(pl.col("block").is_in(list(blocks)))
    if (refused := _unpairable(measured, configuration, pairs, len(blocks))) is not None:
        return refused
    wide = pairs.sort("block", "example").with_columns(d=pl.col("score") - pl.col("reference"))
    matrix = wide["d"].to_numpy().reshape(len(blocks), -1)
    sign = -1.0 if measured.experiment.quality is not None and measured.experiment.quality.direction == "lower" else 1.0
    return np.asarray(sign * matrix, dtype=np.float64)


def _unpairable(measured: Measured, configuration: str, pairs: pl.DataFrame, blocks: int) -> Absent | None:
    """Why the scores cannot be compared example by example; None if they can."""
    if pairs.height == 0:
        return Absent(
            reason="insufficient", detail=f"no block holds scores of both {measured.base} and {configuration}"
        )
    missing = pl.col("score").is_null() | pl.col("reference").is_null()
    gaps = pairs.group_by("example").agg((pl.len() < blocks).or_(missing.any()).alias("gap")).filter("gap").height
    if gaps:
        said = (
            f"{gaps} of {pairs['example'].n_unique()} examples lack a score in some launch; score all in every launch"
        )
        return Absent(reason="refused", detail=said)
    odd = pairs.filter(~(pl.col("score") - pl.col("reference")).is_finite()).height
    if odd:
        said = f"{count(odd, 'scores')} are not finite numbers; mend the score that the script reports"
        return Absent(reason="refused", detail=said)
    if pairs["example"].n_unique() < 2:
        return Absent(
            reason="insufficient", detail="one example carries no interval; score at least 2, better hundreds"
        )
    return None


def _value(measured: Measured, configuration: str) -> Value:
    decision = decide(measured, configuration)
    if isinstance(decision, Absent):
        return decision
    differences = paired_differences(measured, configuration)
    per_launch = () if isinstance(differences, Absent) else tuple(float(mean) for mean in differences.mean(axis=1))
    n_trials = 0 if isinstance(differences, Absent) else differences.size
    return Estimate(
        value=decision.estimate, low=decision.low, high=decision.high, unit=SCORE, confidence=measured.confidence,
        n_launches=len(per_launch), n_trials=n_trials, method=decision.method,
        signature=f"quality_difference|base:{measured.base}|paired:block,example|ci:crossed-one-sided|k:{len(per_launch)}|v:1",
        launch_values=per_launch,
    )  # fmt: skip


METRIC = Metric(
    name="quality_difference", title="Quality against the base", unit=SCORE, kind="level", better="higher",
    dimension="correctness",
    formula="mean over blocks and examples of score(p) - score(base); bounds one-sided", compute=compute, about=WORKLOADS, primary=True,
)  # fmt: skip
