"""Was quality held, compared with the base configuration?

Paired differences d[launch, example] = score(p) - score(base) of the same block and the same example; positive is
better whatever the direction of the score.  The interval is a pair of one-sided bounds that count launch-to-launch and
example-to-example variation, clusters of examples being lost or kept together (`assay.stats.comparing.noninferiority.crossed`).
Quality is held if the lower bound is above -margin; absence of a significant difference is not evidence of that.
Cannot tell: whether examples without a cluster are independent; the gate says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import count
from assay.estimates.over_launches import no_launch
from assay.frames.record_data import Measured
from assay.frames.score_clusters import clusters_of, undeclared
from assay.metrics.base import WORKLOADS, Metric, Results
from assay.metrics.quality import NOT_ASKED, missing_scores, scores, scores_of
from assay.spec.experiment import Quality
from assay.stats.comparing.noninferiority import Decision, Labels, crossed, largest_change
from assay.units import SCORE


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Scores of both sides on the same examples, of shape [launches, examples], and the examples' clusters."""

    reference: np.ndarray
    candidate: np.ndarray
    clusters: Labels


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
    return measured.once(f"quality_difference {configuration}", lambda _: _decided(measured, quality, configuration))


def _decided(measured: Measured, quality: Quality, configuration: str) -> Decision | Absent:
    pairs = paired(measured, configuration)
    if isinstance(pairs, Absent):
        return pairs
    if (wrong := undeclared(pairs.clusters, quality.cluster)) is not None:
        return wrong
    confidence, sign = measured.confidence, -1.0 if quality.direction == "lower" else 1.0
    most = quality.largest_change or largest_change(pairs.reference, pairs.candidate, pairs.clusters)
    return crossed(sign * (pairs.candidate - pairs.reference), quality.margin, confidence, most, pairs.clusters)


def paired(measured: Measured, configuration: str) -> Pairs | Absent:
    """The scores of a configuration beside the base's, block by block; Absent where nothing can be paired."""
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    if scores(measured).height == 0:
        return missing_scores(measured)
    mine, theirs = (scores_of(measured, name) for name in (configuration, measured.base))
    reference = theirs.select("block", "example", pl.col("score").alias("reference"))
    pairs = mine.select("block", "example", "score").join(reference, on=["block", "example"], how="full", coalesce=True)
    blocks = set(mine["block"].unique()) & set(theirs["block"].unique())
    pairs = pairs.filter(pl.col("block").is_in(list(blocks))).sort("block", "example")
    if (refused := _unpairable(measured, configuration, pairs, len(blocks))) is not None:
        return refused
    clusters = clusters_of(pl.concat([mine, theirs]), pairs["example"].unique().sort().to_list())
    if isinstance(clusters, Absent):
        return clusters
    sides = (pairs[name].to_numpy().reshape(len(blocks), -1) for name in ("reference", "score"))
    return Pairs(reference=next(sides), candidate=next(sides), clusters=clusters)


def _unpairable(measured: Measured, configuration: str, pairs: pl.DataFrame, blocks: int) -> Absent | None:
    """Why the scores cannot be compared example by example; None if they can."""
    if pairs.height == 0:
        return Absent(reason="insufficient", detail=f"no block holds scores of both {measured.base} and {configuration}")
    missing = pl.col("score").is_null() | pl.col("reference").is_null()
    gaps = pairs.group_by("example").agg((pl.len() < blocks).or_(missing.any()).alias("gap")).filter("gap").height
    if gaps:
        said = f"{gaps} of {pairs['example'].n_unique()} examples lack a score in some launch; score all in every launch"
        return Absent(reason="refused", detail=said)
    odd = pairs.filter(~(pl.col("score") - pl.col("reference")).is_finite()).height
    if odd:
        said = f"{count(odd, 'scores')} are not finite numbers; mend the score that the script reports"
        return Absent(reason="refused", detail=said)
    if pairs["example"].n_unique() < 2:
        return Absent(reason="insufficient", detail="one example carries no interval; score at least 2, better hundreds")
    return None


def _value(measured: Measured, configuration: str) -> Value:
    decision = decide(measured, configuration)
    if isinstance(decision, Absent):
        return decision
    pairs = paired(measured, configuration)
    assert not isinstance(pairs, Absent)
    sign = -1.0 if measured.experiment.quality is not None and measured.experiment.quality.direction == "lower" else 1.0
    per_launch = tuple(float(mean) for mean in sign * (pairs.candidate - pairs.reference).mean(axis=1))
    return Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=measured.confidence,
        n_launches=len(per_launch),
        n_trials=pairs.candidate.size,
        method=decision.method,
        signature=f"quality_difference|base:{measured.base}|paired:block,example|ci:crossed-one-sided|k:{len(per_launch)}|v:2",
        launch_values=per_launch,
    )


METRIC = Metric(
    name="quality_difference",
    title="Quality against the base",
    unit=SCORE,
    kind="level",
    better="higher",
    dimension="correctness",
    formula="mean over blocks and examples of score(p) - score(base); bounds one-sided",
    compute=compute,
    about=WORKLOADS,
    primary=True,
)
