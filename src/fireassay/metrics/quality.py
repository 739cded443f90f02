"""How good is the result, and was quality held?

Quality is the mean score over the held-out examples of a launch, then over launches. Its interval covers both sources of error:
examples, or whole clusters of dependent ones, are a sample (Gaffke's bound; Clopper & Pearson's if each is right or wrong),
and so are launches (Student's t); 0 of 3 right is 0 [0, 0.71]. Against the base, differences are paired by block and
example, positive is better whatever the direction of the score, and the bounds are one-sided
(`fireassay.stats.comparing.noninferiority.crossed`): quality is held if the lower one is above -margin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch, of_interval
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended_words
from fireassay.frames.scores import clusters_of, labels_words, undeclared
from fireassay.metrics.metric import WORKLOADS, Metric, Results, each
from fireassay.spec.experiment import Quality
from fireassay.spec.rules.evaluation import scores_of_a_load
from fireassay.stats.comparing.noninferiority import Decision, crossed, largest_change, launches_of, units_of
from fireassay.stats.intervals.bounded_mean import lower, upper
from fireassay.stats.intervals.intervals import Interval, t_quantile
from fireassay.stats.intervals.item_means import Labels
from fireassay.units import SCORE

NOT_ASKED = Absent("not_measured", "the experiment names no quality metric; add [quality] metric and margin")
NO_REFERENCE = Absent(
    "not_measured", "no answer to a prompt with a reference answer was kept; set serving.prompts.answer_field and client.keep_text"
)


def _quality(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if measured.experiment.quality is None:
        return dict.fromkeys(measured.configurations, NOT_ASKED)
    return {name: _mean_score(measured, name) for name in measured.configurations}


def scores_of(measured: RecordData, configuration: str) -> pl.DataFrame:
    """(launch, example, score, cluster, empty) of a configuration's timed launches, for the deciding metric."""

    def fold(data: RecordData) -> pl.DataFrame:
        scored = data.timed.filter(pl.col("configuration") == configuration).select("launch", "block")
        return scored.join(data.scores, on="launch").sort("block", "example")

    return measured.once(f"scores of {configuration}", fold)


def missing_scores(measured: RecordData) -> Absent:
    """Why there is no score: nothing reported, or reported under other names."""
    if words := ended_words(measured):
        return Absent("not_measured", f"launches were {words}: quality is that of a finished training")
    metric = measured.experiment.quality.metric if measured.experiment.quality else ""
    if measured.kind.sends_requests and metric in scores_of_a_load():
        return NO_REFERENCE
    reported = sorted(measured.table("examples")["metric"].unique().to_list())
    if reported:
        return Absent("not_measured", f"no score named {metric!r} was reported; reported: {', '.join(reported)}")
    if measured.kind.unchecked:
        return Absent("not_measured", "the program scored no held-out items; name the file in which it does: --scores or --rankings")
    return Absent("not_measured", "the script scored no held-out examples; call probe.examples(ids, scores)")


def _mean_score(measured: RecordData, configuration: str) -> Value:
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    scored = scores_of(measured, configuration)
    if scored.height == 0:
        return missing_scores(measured)
    if not scored["score"].is_finite().all():
        return Absent("refused", "a score is not a finite number; fix the score that the script reports")
    examples = scored.group_by("example").agg(pl.col("score").mean()).sort("example")
    clusters = clusters_of(scored, examples["example"].to_list())
    if isinstance(clusters, Absent):
        return clusters
    launches = scored.group_by("launch", maintain_order=True).agg(pl.col("score").mean())["score"].to_numpy()
    interval = _interval(scored, examples["score"].to_numpy(), clusters, launches, measured.confidence)
    return of_interval(
        interval,
        tuple(float(value) for value in launches),
        measured.confidence,
        unit=SCORE,
        name="quality",
        n_trials=scored.height,
        method=f"mean score over {labels_words(clusters)}: Gaffke's bound, and Student t over {len(launches)} launches",
        tags="agg:mean score over the held-out examples|ci:gaffke-t",
    )


def _interval(scored: pl.DataFrame, means: np.ndarray, clusters: Labels, launches: np.ndarray, confidence: float) -> Interval:
    """Over examples and launches; limited to the range of possible scores."""
    tail = (1.0 + confidence) / 2.0
    units, values = units_of(means, clusters), scored["score"].to_numpy()
    lowest, highest = min(0.0, float(values.min())), max(1.0, float(values.max()))
    below, above = units.mean - lower(units, lowest, tail), upper(units, highest, tail) - units.mean
    if scored.height == len(launches) * len(means):  # every launch scored every example
        half = launches_of(values.reshape(len(launches), -1), clusters, tail).half
    else:  # the launches' means then also differ by their examples: counted twice, which is conservative
        k = len(launches)
        half = t_quantile(tail, k - 1) * float(launches.std(ddof=1)) / math.sqrt(k) if k > 1 else math.inf
    value = float(launches.mean())
    return Interval(value=value, low=max(lowest, value - math.hypot(below, half)), high=min(highest, value + math.hypot(above, half)))


QUALITY = Metric(
    name="quality",
    title="Quality",
    unit=SCORE,
    kind="level",
    better="neither",
    dimension="correctness",
    formula="mean over held-out examples of the score",
    compute=_quality,
    about=WORKLOADS,
    requested=lambda measured: not measured.kind.judges_quality,
    primary=True,
    question="How good is the result on the held-out examples?",
    caveat="It says nothing about uses that these examples do not represent.",
    rank=100,
)


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Scores of both sides on the same examples, of shape [launches, examples], and the examples' clusters."""

    reference: np.ndarray
    candidate: np.ndarray
    clusters: Labels


def decide(measured: RecordData, configuration: str) -> Decision | Absent:
    """The non-inferiority decision, with the data needed if it is inconclusive."""
    quality = measured.experiment.quality
    if quality is None:
        return NOT_ASKED
    if configuration == measured.base:
        return Absent("not_applicable", "this is the reference that the others are compared with")
    return measured.once(f"quality_difference {configuration}", lambda _: _decided(measured, quality, configuration))


def _decided(measured: RecordData, quality: Quality, configuration: str) -> Decision | Absent:
    pairs = paired(measured, configuration)
    if isinstance(pairs, Absent):
        return pairs
    if (wrong := undeclared(pairs.clusters, quality.cluster)) is not None:
        return wrong
    confidence, sign = measured.confidence, -1.0 if quality.direction == "lower" else 1.0
    largest = quality.largest_change or largest_change(pairs.reference, pairs.candidate, pairs.clusters)
    return crossed(sign * (pairs.candidate - pairs.reference), quality.margin, confidence, largest, pairs.clusters)


def paired(measured: RecordData, configuration: str) -> Pairs | Absent:
    """The scores of a configuration paired with the base's, block by block; Absent if nothing can be paired."""
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    if measured.scores.height == 0:
        return missing_scores(measured)
    candidate, base = (scores_of(measured, name) for name in (configuration, measured.base))
    reference = base.select("block", "example", pl.col("score").alias("reference"))
    pairs = candidate.select("block", "example", "score").join(reference, on=["block", "example"], how="full", coalesce=True)
    blocks = set(candidate["block"].unique()) & set(base["block"].unique())
    pairs = pairs.filter(pl.col("block").is_in(list(blocks))).sort("block", "example")
    if (refused := _unpairable(measured, configuration, pairs, len(blocks))) is not None:
        return refused
    clusters = clusters_of(pl.concat([candidate, base]), pairs["example"].unique().sort().to_list())
    if isinstance(clusters, Absent):
        return clusters
    sides = (pairs[name].to_numpy().reshape(len(blocks), -1) for name in ("reference", "score"))
    return Pairs(reference=next(sides), candidate=next(sides), clusters=clusters)


def _unpairable(measured: RecordData, configuration: str, pairs: pl.DataFrame, blocks: int) -> Absent | None:
    """Why the scores cannot be compared example by example; None if they can."""
    if pairs.height == 0:
        return Absent("insufficient", f"no round holds scores of both {measured.base} and {configuration}")
    missing = pl.col("score").is_null() | pl.col("reference").is_null()
    gaps = pairs.group_by("example").agg((pl.len() < blocks).or_(missing.any()).alias("gap")).filter("gap").height
    if gaps:
        return Absent("refused", f"{gaps} of {pairs['example'].n_unique()} examples lack a score in some launch; score all in every launch")
    odd = pairs.filter(~(pl.col("score") - pl.col("reference")).is_finite()).height
    if odd:
        return Absent("refused", f"{count(odd, 'scores')} are not finite numbers; fix the score that the script reports")
    if pairs["example"].n_unique() < 2:
        return Absent("insufficient", "one example carries no interval; score at least 2, better hundreds")
    return None


def _difference_of(measured: RecordData, configuration: str) -> Value:
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
        confidence=2.0 * measured.confidence - 1.0,  # of both one-sided bounds together
        n_launches=len(per_launch),
        n_trials=pairs.candidate.size,
        method=decision.method,
        signature=f"quality_difference|base:{measured.base}|paired:block,example|ci:crossed-one-sided|k:{len(per_launch)}|v:2",
        launch_values=per_launch,
    )


QUALITY_DIFFERENCE = Metric(
    name="quality_difference",
    title="Quality against the base",
    unit=SCORE,
    kind="level",
    better="higher",
    dimension="correctness",
    formula="mean over rounds and examples of score(p) - score(base); bounds one-sided",
    compute=each(_difference_of),
    about=WORKLOADS,
    requested=lambda measured: not measured.kind.judges_quality,
    primary=True,
    question="Was quality held, compared with the base configuration?",
    caveat="Examples without a cluster are taken as independent.  No significant difference is no evidence that quality was held.",
    rank=101,
)
METRICS = (QUALITY, QUALITY_DIFFERENCE)
