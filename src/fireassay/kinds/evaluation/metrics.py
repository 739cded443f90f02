"""How good are the answers, and how many items have none?

One metric for each score of `fireassay.quality.scoring.metrics`, with the score's own name, computed where it was requested; of a score that another program
computed (an imported record, a field of a file) without a file of its own.  Over several tasks it is
the mean of their scores, each task counting alike.  A score that is no mean of item scores (BLEU, MCC) is resampled over items, whole
clusters together.  The interval covers the items, not the engine: another start of it is another launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import starmap
from typing import Final

import numpy as np
import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch
from fireassay.frames.evaluation.item_scores import (
    ItemScores,
    answers_of,
    identity,
    item_scores,
    metric_named,
    metric_of,
    metrics_of,
    requested,
    scores_elsewhere,
    tasks,
)
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import powered, raters
from fireassay.kinds.evaluation.diverging import DIVERGING
from fireassay.metrics.metric import Metric, each
from fireassay.quality.scoring.elsewhere import METHOD as ELSEWHERE
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.stats import calibration
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.item_means import METHOD, is_share, of_items, wilson
from fireassay.units import FRACTION, SCORE

ABOUT = ("evaluation",)
SCORED = partial(Metric, unit=SCORE, kind="level", dimension="correctness", about=ABOUT)
MIN_ITEMS = 2  # items of a score with an interval
FIRST: Final = 1900  # rank of the first score


def of_task(measured: RecordData, scores: ItemScores) -> Value:
    """One score of one task, with its interval over items."""
    confidence, evaluation = measured.confidence, measured.experiment.evaluation
    if len(scores.items) < MIN_ITEMS:
        return Absent(
            reason="insufficient",
            detail=f"{count(len(scores.items), 'scored items')} {'carries' if len(scores.items) == 1 else 'carry'} no interval; score at least {MIN_ITEMS}",
        )
    if scores.metric.corpus:
        assert evaluation is not None
        return _of_corpus(scores, confidence, evaluation.resamples, measured.experiment.launches.seed)
    if (rated := raters.mean_of(scores, confidence)) is not None:
        return rated
    if (judged := powered.mean_of(scores, confidence)) is not None:
        return judged
    interval = of_items(scores.rows[:, 0], scores.weights, scores.labels, scores.metric.scale, confidence)
    units = len(scores.items) if scores.labels is None else len({label for label in scores.clusters if label is not None})
    how = _how(scores)
    words = f"{count(len(scores.items), 'items')}" + (f" in {count(units, 'clusters')}" if scores.labels is not None else "")
    return _estimate(scores, interval, confidence, f"mean over {words}: {how}")


def _how(scores: ItemScores) -> str:
    """How the interval of a mean is made."""
    if is_share(scores.rows[:, 0], scores.labels, scores.metric.scale):
        even = bool(np.all(scores.weights == scores.weights[0]))
        return "Wilson's interval" if even else "Wilson's interval, of the effective number of items"
    return f"{METHOD}, cluster-robust" if scores.labels else METHOD


def _of_corpus(scores: ItemScores, confidence: float, draws: int, seed: int) -> Value:
    items = calibration.Items(weights=scores.weights, clusters=scores.labels)
    found = calibration.of_score(lambda weights: scores.metric.weighted(scores.rows, weights), items, confidence, draws=draws, seed=seed)
    if math.isnan(found.value):
        why = f": {scores.metric.undefined}" if scores.metric.undefined else ""
        return Absent(reason="undefined", detail=f"{scores.metric.title} is undefined for these items{why}")
    if found.reason:
        return Absent(reason="insufficient", detail=f"{scores.metric.title} is {found.value:.4g}, without an interval: {found.reason}")
    interval = Interval(value=found.value, low=found.low, high=found.high)
    return _estimate(scores, interval, confidence, f"{count(len(scores.items), 'items')}: {calibration.METHOD}, {draws:,} draws")


def _estimate(scores: ItemScores, interval: Interval, confidence: float, method: str) -> Estimate:
    fold = f"{'all items at once' if scores.metric.corpus else 'mean over items'}{' by majority' if scores.elected else ''}"
    return over_items(
        interval,
        confidence,
        len(scores.items),
        method=f"{method}, each by the majority of its answers" if scores.elected else method,
        signature=f"{scores.metric.name}|agg:{fold}|items:{len(scores.items)}|repetitions:{scores.repetitions}|v:1",
        launches=scores.launches,
    )


def over_items(
    interval: Interval, confidence: float, items: int, *, method: str, signature: str, unit: str = SCORE, launches: int = 1
) -> Estimate:
    """A number over so many items."""
    return Estimate.of(interval, unit=unit, confidence=confidence, n_launches=launches, n_trials=items, method=method, signature=signature)


def score_of(measured: RecordData, configuration: str, name: str) -> Value:
    """A score at one configuration, over all tasks that have it."""
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    scored = [item_scores(measured, configuration, task, name) for task in tasks(measured) if name in metrics_of(measured, task)]
    values = [of_task(measured, scores) for scores in scored if scores.items]
    if not values:
        return Absent(reason="not_measured", detail="no item was answered")
    return over_tasks(values, name, measured.confidence)


def over_tasks(values: list[Value], name: str, confidence: float) -> Value:
    """The mean of the tasks' scores; their half-widths add in squares, since tasks share no items."""
    if len(values) == 1:
        return values[0]
    known = [value for value in values if isinstance(value, Estimate)]
    if len(known) < len(values):
        return next(value for value in values if isinstance(value, Absent))
    k, mean = len(known), sum(value.value for value in known) / len(known)
    below = math.hypot(*(value.value - value.low for value in known)) / k
    above = math.hypot(*(value.high - value.value for value in known)) / k
    return Estimate(
        value=mean,
        low=mean - below,
        high=mean + above,
        unit=SCORE,
        confidence=confidence,
        n_launches=known[0].n_launches,
        n_trials=sum(value.n_trials for value in known),
        method=f"mean of {k} tasks, each counting alike",
        signature=f"{name}|agg:mean over {k} tasks|v:1",
    )


def of_record(measured: RecordData) -> Mapping[str, Metric]:
    """The scores of another program, each a metric under its own name."""
    names = scores_elsewhere(measured)
    return {name: _metric(FIRST + rank, metric_of(measured, name), lambda _: True) for rank, name in enumerate(names)}


def _own(rank: int, name: str) -> Metric:
    """One of our scores, where it was computed by us."""
    return _metric(rank, metric_named(name), lambda measured: name in requested(measured) and name not in scores_elsewhere(measured))


def _metric(rank: int, score: TextMetric, requested: Callable[[RecordData], bool]) -> Metric:
    name = score.name
    return SCORED(
        name=name,
        title=score.title,
        better=score.better,
        formula="mean over items of the score" if not score.corpus else "function of the sums over items",
        compute=each(lambda measured, configuration: score_of(measured, configuration, name)),
        requested=requested,
        primary=True,
        question=f"What is {score.title} of the answers?",
        caveat=score.caveat,
        decides=rank,
        rank=rank,
    )


def _share_of(measured: RecordData, configuration: str, which: Callable[[pl.DataFrame], int]) -> Value:
    answers = answers_of(measured, configuration)
    if answers.height == 0:
        return no_launch(configuration)
    if which is without_answer and all(facts.get("method") == ELSEWHERE for facts in identity(measured).values()) and identity(measured):
        return Absent(reason="not_applicable", detail="scores of another program need no answer")
    if which is cut and answers["finish_reason"].null_count() == answers.height:
        return Absent(reason="not_measured", detail="how the answers ended was not reported")
    interval = wilson(float(which(answers)), float(answers.height), measured.confidence)
    return over_items(
        interval,
        measured.confidence,
        answers.height,
        method=f"share of {count(answers.height, 'answers')}: Wilson's interval",
        signature="share of answers|ci:wilson|v:1",
        unit=FRACTION,
        launches=answers["launch"].n_unique(),
    )


def unanswered(answers: pl.DataFrame) -> int:
    """How many were never answered: failed requests, missing answers."""
    return answers.filter(pl.col("outcome") != "ok").height


def without_answer(answers: pl.DataFrame) -> int:
    """How many were answered with a text in which no answer was found."""
    return answers.filter((pl.col("outcome") == "ok") & pl.col("answer").is_null()).height


def cut(answers: pl.DataFrame) -> int:
    """How many ended because of the token limit."""
    return answers.filter(pl.col("finish_reason") == "length").height


def _of_answers(name: str, rank: int, title: str, which: Callable[[pl.DataFrame], int], formula: str, caveat: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit=FRACTION,
        kind="level",
        better="lower",
        dimension="reliability",
        formula=formula,
        compute=each(lambda measured, configuration: _share_of(measured, configuration, which)),
        about=ABOUT,
        primary=True,
        question=f"{title}: how often?",
        caveat=caveat,
        rank=rank,
    )


FAILED_ANSWERS: Final = _of_answers(
    "failed_answers",
    2000,
    "Items without an answer",
    unanswered,
    "items not answered / items asked",
    "A failure is neither right nor wrong.",
)
NO_ANSWER: Final = _of_answers(
    "no_answer", 2001, "NO_ANSWER", without_answer, "answers in which nothing was found / items asked", "They count as wrong."
)
CUT_ANSWERS: Final = _of_answers(
    "cut_answers", 2002, "Answers cut at the limit", cut, "answers that ended at the token limit / items asked", "Unknown if not reported."
)
METRICS = (*starmap(_own, enumerate(catalog.names("quality.scoring.metrics"), FIRST)), FAILED_ANSWERS, NO_ANSWER, CUT_ANSWERS, *DIVERGING)
