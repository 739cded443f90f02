"""How good is the trained model on the held-out examples?

quality = mean score over the held-out examples of a launch, for the metric that the experiment names; then over
launches.  The interval counts both: the examples are a sample of those that might have been asked, and whole clusters of
them where they share their fate (Gaffke's bound: Clopper and Pearson's where each is right or wrong), the launches are others
than tomorrow's (Student's t).  0 of 3 right is 0 [0, 0.71].
Cannot tell: whether these examples stand for the use that matters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import no_launch, of_interval
from assay.frames.ended_launches import ended_words
from assay.frames.record_data import Measured
from assay.frames.score_clusters import clusters_of, labels_words
from assay.metrics.base import WORKLOADS, Metric, Results
from assay.spec.rules.quality import SCORED
from assay.stats.comparing.noninferiority import Labels, launches_of, units_of
from assay.stats.intervals.bounded_mean import lower, upper
from assay.stats.intervals.intervals import Interval, t_quantile
from assay.units import SCORE

NOT_ASKED = Absent(reason="not_measured", detail="the experiment names no quality metric; add [quality] metric and margin")

NO_REFERENCE = Absent(
    reason="not_measured",
    detail="no answer was kept whose prompt has a reference answer; give serving.prompts.answer_field and client.keep_text",
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Mean score per configuration."""
    if measured.experiment.quality is None:
        return dict.fromkeys(measured.configurations, NOT_ASKED)
    return {name: _one(measured, name) for name in measured.configurations}


def scores(measured: Measured) -> pl.DataFrame:
    """(launch, example, score, cluster, empty) of the metric that decides."""
    return measured.scores


def scores_of(measured: Measured, configuration: str) -> pl.DataFrame:
    """The same of one configuration's timed launches."""

    def fold(one: Measured) -> pl.DataFrame:
        own = one.timed.filter(pl.col("configuration") == configuration).select("launch", "block")
        return own.join(scores(one), on="launch").sort("block", "example")

    return measured.once(f"scores of {configuration}", fold)


def missing_scores(measured: Measured) -> Absent:
    """Why there is no score: nothing reported, or reported under other names."""
    if words := ended_words(measured):
        return Absent(reason="not_measured", detail=f"launches were {words}: quality is that of a finished training")
    asked = measured.experiment.quality.metric if measured.experiment.quality else ""
    if measured.kind.sends_requests and asked in SCORED:
        return NO_REFERENCE
    reported = sorted(measured.table("examples")["metric"].unique().to_list())
    if reported:
        return Absent(reason="not_measured", detail=f"no score named {asked!r} was reported; reported: {', '.join(reported)}")
    return Absent(reason="not_measured", detail="the script scored no held-out examples; call probe.examples(ids, scores)")


def _one(measured: Measured, configuration: str) -> Value:
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    own = scores_of(measured, configuration)
    if own.height == 0:
        return missing_scores(measured)
    if not own["score"].is_finite().all():
        return Absent(reason="refused", detail="a score is not a finite number; mend the score that the script reports")
    examples = own.group_by("example").agg(pl.col("score").mean()).sort("example")
    clusters = clusters_of(own, examples["example"].to_list())
    if isinstance(clusters, Absent):
        return clusters
    launches = own.group_by("launch", maintain_order=True).agg(pl.col("score").mean())["score"].to_numpy()
    interval = _interval(own, examples["score"].to_numpy(), clusters, launches, measured.confidence)
    return of_interval(
        interval,
        tuple(float(value) for value in launches),
        measured.confidence,
        unit=SCORE,
        name="quality",
        n_trials=own.height,
        method=f"mean score over {labels_words(clusters)}: Gaffke's bound, and Student t over {len(launches)} launches",
        tags="agg:mean score over the held-out examples|ci:gaffke-t",
    )


def _interval(own: pl.DataFrame, means: np.ndarray, clusters: Labels, launches: np.ndarray, confidence: float) -> Interval:
    """Examples and launches together; never outside of the scores that there can be."""
    tail = (1.0 + confidence) / 2.0
    units, values = units_of(means, clusters), own["score"].to_numpy()
    least, most = min(0.0, float(values.min())), max(1.0, float(values.max()))
    below, above = units.mean - lower(units, least, tail), upper(units, most, tail) - units.mean
    if own.height == len(launches) * len(means):  # every launch scored every example
        half = launches_of(values.reshape(len(launches), -1), clusters, tail).half
    else:  # the launches' means then differ by their examples too: counted twice, on the safe side
        k = len(launches)
        half = t_quantile(tail, k - 1) * float(launches.std(ddof=1)) / math.sqrt(k) if k > 1 else math.inf
    value = float(launches.mean())
    return Interval(value=value, low=max(least, value - math.hypot(below, half)), high=min(most, value + math.hypot(above, half)))


METRIC = Metric(
    name="quality",
    title="Quality",
    unit=SCORE,
    kind="level",
    better="neither",
    dimension="correctness",
    formula="mean over held-out examples of the score",
    compute=compute,
    about=WORKLOADS,
    primary=True,
)
