"""What did each item score, on average over its repetitions?

A repetition (another answer to the same item, in the same launch or in another) is no further item: an item's rows are averaged first.
An item without a score in any repetition is left out of a mean, and counted by `unscored`.
Scores of another program are means over items (or a ratio of sums) under their own names, whatever our score of that name is.  Those in fields of
a file have the scale that was declared, if any; those of an imported harness 0 to 1 if none was seen outside of it, else an unknown one.

How sure was the model of its choice, and was it right?  The softmax over the log probabilities of an item's choices.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from fireassay import catalog
from fireassay.frames.evaluation.rated import Cells, by_judge, cells_of
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.quality.scoring.elsewhere import declared, judged_by, of_field
from fireassay.quality.scoring.likelihoods import METHOD, of_text
from fireassay.quality.scoring.text_metric import Array, TextMetric, Whole
from fireassay.spec.sections.given_scores import UNBOUNDED
from fireassay.spec.sections.judge import JUDGED

Answers = tuple[RecordData, str]  # those of a configuration of a record


@dataclass(frozen=True, kw_only=True)
class ItemScores:
    """One score of one task at one configuration: a row per item, in the order of their ids."""

    metric: TextMetric
    items: tuple[str, ...]
    rows: Array  # [items, statistics], means over repetitions; no NaN
    weights: Array  # [items]
    clusters: tuple[str | None, ...]
    repetitions: int  # most answers of one item
    launches: int
    unscored: int  # items that were answered and have no score
    elected: bool = False  # whether an item's answer is that of most repetitions
    cells: Cells | None = None  # who gave which score, where the answers are ratings
    gold: Mapping[str, float] | None = None  # item -> what people say of it, where a model judged; None: no model did

    @property
    def value(self) -> float:
        """The score of all items; NaN if it is undefined for them."""
        return float(self.metric.weighted(self.rows, self.weights[None, :])[0]) if len(self.items) else float("nan")

    @property
    def labels(self) -> Sequence[str | None] | None:
        """The clusters; None if no item has one."""
        return None if all(label is None for label in self.clusters) else self.clusters


@cache
def metric_named(name: str) -> TextMetric:
    """A score's declaration; loads no library."""
    metric: TextMetric = catalog.load("quality.scoring.metrics", name)
    return metric


def metric_of(measured: RecordData, name: str) -> TextMetric:
    """The declaration of a score of this record; of one that another program computed made from what the record says."""
    if measured.foreign is not None:
        return measured.once(f"foreign score {name}", lambda data: _foreign(data, name))
    evaluation = measured.experiment.evaluation
    given = evaluation.given if evaluation is not None else None
    if name == JUDGED and by_judge(measured):
        facts = judge_of(measured)
        return judged_by(facts.model, facts.scale, pairs=facts.pairs)
    return of_field(given, name) if given is not None and name in given.fields else metric_named(name)


def scores_elsewhere(measured: RecordData) -> tuple[str, ...]:
    """The scores that another program computed: all of an imported record, and fields of files."""
    if measured.foreign is not None:
        return requested(measured)
    evaluation = measured.experiment.evaluation
    if by_judge(measured):
        return (JUDGED,)
    return evaluation.given.fields if evaluation is not None and evaluation.given is not None else ()


def undeclared(measured: RecordData) -> tuple[str, ...]:
    """Those in fields of files without a declared scale."""
    return tuple(name for name in scores_elsewhere(measured) if measured.foreign is None and metric_of(measured, name).scale == UNBOUNDED)


def _foreign(measured: RecordData, name: str) -> TextMetric:
    reported = ((measured.foreign or {}).get("scores") or {}).get(name) or {}
    tool = str((measured.foreign or {}).get("title") or "another program")
    scores = measured.table("scores").filter(pl.col("metric") == name)["score"]
    within = bool(scores.is_between(0.0, 1.0).all())  # nulls are ignored
    return declared(
        name,
        lower=reported.get("better") == "lower",
        scale=(0.0, 1.0) if within else UNBOUNDED,
        source=tool,
        ratio=reported.get("form") == "ratio",
    )


def identity(measured: RecordData) -> Mapping[str, Mapping[str, Any]]:
    """What identifies each task, by name: signatures of its scores, extraction, digests of items and files."""
    evaluation = measured.before.get("evaluation")
    tasks = evaluation.get("tasks") if isinstance(evaluation, Mapping) else None
    return tasks if isinstance(tasks, Mapping) else {}


def grouping_of(measured: RecordData, task: str) -> tuple[str, int] | None:
    """A field of the task's data that groups items though no cluster was named, and how many groups it makes."""
    evaluation = measured.before.get("evaluation")
    found = evaluation.get("grouping") if isinstance(evaluation, Mapping) else None
    of_task = found.get(task) if isinstance(found, Mapping) else None
    return (str(of_task[0]), int(of_task[1])) if isinstance(of_task, list) and len(of_task) == 2 else None


def pooled_over(measured: RecordData, task: str) -> tuple[str, tuple[str, ...]] | None:
    """A field of the task's data that tells apart the answers to an item that are pooled, and its values."""
    evaluation = measured.before.get("evaluation")
    found = evaluation.get("pooled") if isinstance(evaluation, Mapping) else None
    of_task = found.get(task) if isinstance(found, Mapping) else None
    if not isinstance(of_task, list) or len(of_task) != 2 or not isinstance(of_task[1], list):
        return None
    return str(of_task[0]), tuple(map(str, of_task[1]))


@once_per_record
def metrics_of(measured: RecordData, task: str) -> tuple[str, ...]:
    """The scores of a task, the deciding one first."""
    named = identity(measured).get(task, {}).get("metrics")
    recorded = measured.table("scores").filter(pl.col("task") == task)["metric"].unique().sort().to_list()
    return tuple(name for name in named if name in recorded) if isinstance(named, Mapping) else tuple(recorded)


def deciding(measured: RecordData, task: str) -> str:
    """The score that decides a task; empty if nothing was scored."""
    return next(iter(metrics_of(measured, task)), "")


def requested(measured: RecordData) -> tuple[str, ...]:
    """The scores of all tasks, each task's deciding one first."""
    return tuple(dict.fromkeys(name for task in tasks(measured) for name in metrics_of(measured, task)))


@once_per_record
def tasks(measured: RecordData) -> tuple[str, ...]:
    """The tasks of a record, by name."""
    return tuple(measured.table("answers")["task"].unique().sort().to_list())


def answers_of(measured: RecordData, configuration: str) -> pl.DataFrame:
    """The rows of `answers` of a configuration's timed launches; where steps are turns those of the last turn."""
    return measured.once(f"answers of {configuration}", lambda data: _answers_of(data, configuration))


def _answers_of(measured: RecordData, configuration: str) -> pl.DataFrame:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    answers = measured.table("answers").join(launches, on="launch", how="semi")
    evaluation = measured.experiment.evaluation
    steps = evaluation.steps if evaluation is not None else None
    if steps is not None and steps.what == "turns" and steps.levels:  # earlier turns are steps to the answer: `frames.evaluation.steps`
        return answers.filter(pl.col("repetition") == steps.most - 1)
    return answers


def item_scores(measured: RecordData, configuration: str, task: str, metric: str) -> ItemScores:
    """One score of one task at one configuration."""
    key = f"item scores of {configuration} {task} {metric}"
    return measured.once(key, lambda data: _item_scores(data, configuration, task, metric))


def _item_scores(measured: RecordData, configuration: str, task: str, name: str) -> ItemScores:
    metric, keys = metric_of(measured, name), ["launch", "task", "item", "repetition"]
    answers = answers_of(measured, configuration).filter(pl.col("task") == task).select(*keys, "cluster", "weight", "answer")
    elected = by_majority(measured, task)
    answers = voted(answers) if elected else answers
    scored = measured.table("scores").filter((pl.col("metric") == name) & pl.col("score").is_not_null())
    answered = answers.join(scored.select(*keys, "statistics"), on=keys, how="left")
    if metric.whole is not None:
        answered = _wholes(answered, metric.whole)
    width = 1 if metric.whole is not None else len(metric.statistics)
    folded = (
        answered.filter(pl.col("statistics").list.len() == width)
        .group_by("item")
        .agg(
            *(pl.col("statistics").list.get(column).mean().alias(f"s{column}") for column in range(width)),
            pl.col("weight").first(),
            pl.col("cluster").first(),
            pl.len().alias("repetitions"),
        )
        .sort("item")
    )
    return ItemScores(
        metric=metric,
        items=tuple(folded["item"].to_list()),
        rows=folded.select(f"s{column}" for column in range(width)).to_numpy().reshape(-1, width).astype(np.float64),
        weights=folded["weight"].to_numpy(),
        clusters=tuple(folded["cluster"].to_list()),
        repetitions=int(folded["repetitions"].max() or 0),  # type: ignore[arg-type]
        launches=answers["launch"].n_unique(),
        unscored=answered["item"].n_unique() - folded.height,
        elected=elected,
        cells=cells_of(measured, answers.select("launch").unique(), task, name),
        gold=gold_of(measured, configuration, task) if name == JUDGED and by_judge(measured) else None,
    )


@dataclass(frozen=True, kw_only=True)
class JudgeFacts:
    """How a judge's score is to be read."""

    model: str
    pairs: bool  # whether it compared each other side with the first one
    scale: tuple[float, float]
    good: float  # smallest rating of a good answer


@once_per_record
def judge_of(measured: RecordData) -> JudgeFacts:
    """What the record says of its judge."""
    found: Mapping[str, Any] = next(
        (facts["judge"] for facts in identity(measured).values() if isinstance(facts.get("judge"), Mapping)), {}
    )
    low, high = found.get("scale") or (0.0, 1.0)
    return JudgeFacts(
        model=str(found.get("model", "")),
        pairs=found.get("form") == "pairs",
        scale=(float(low), float(high)),
        good=float(found.get("good", high)),
    )


def gold_of(measured: RecordData, configuration: str, task: str) -> Mapping[str, float]:
    """item -> the mean of people's labels at a configuration; of pairs the first side is what others are compared with, 0.5 of every item."""
    if judge_of(measured).pairs and configuration == measured.base:
        items = answers_of(measured, configuration).filter(pl.col("task") == task)["item"].unique()
        return dict.fromkeys(items.to_list(), 0.5)
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    labels = measured.table("ratings").filter((pl.col("task") == task) & (pl.col("kind") == "person") & pl.col("rating").is_not_null())
    means = labels.join(launches, on="launch", how="semi").group_by("item").agg(pl.col("rating").mean()).sort("item")
    return dict(zip(means["item"].to_list(), means["rating"].to_list(), strict=True))


def by_majority(measured: RecordData, task: str) -> bool:
    """True if an item's answer is the one that most of its repetitions give."""
    evaluation = measured.experiment.evaluation
    asked = identity(measured).get(task, {}).get("options")
    return bool((evaluation is not None and evaluation.majority) or (isinstance(asked, Mapping) and asked.get("majority")))


def voted(answers: pl.DataFrame) -> pl.DataFrame:
    """Of each item one of its most frequent answers, of equally frequent ones the first, or the first where nothing was found in any."""
    ordered = answers.sort("item", "launch", "repetition").with_row_index("place")
    votes = ordered.filter(pl.col("answer").is_not_null()).group_by("item", "answer").agg(pl.len(), pl.col("place").min())
    most = votes.sort("item", "len", "place", descending=[False, True, False]).unique("item", keep="first", maintain_order=True)
    chosen = ordered.filter(pl.col("place").is_in(most["place"].implode()) | ~pl.col("item").is_in(most["item"].implode()))
    return chosen.unique("item", keep="first", maintain_order=True).drop("place")


def _wholes(answered: pl.DataFrame, whole: Whole) -> pl.DataFrame:
    """The rows of what the items are parts of; without statistics where an item has none."""
    last = pl.col("statistics").list.last()
    parts = answered.with_columns(pl.col("item").map_elements(whole.of_item, return_dtype=pl.String))
    grouped = parts.group_by("launch", "task", "item", "repetition").agg(
        last.min().alias("least"),
        last.max().alias("most"),
        last.null_count().alias("missing"),
        pl.col("weight").first(),
        pl.col("cluster").first(),
    )
    scores = pl.Series("statistics", whole.fold(grouped["least"].to_numpy(), grouped["most"].to_numpy()).astype(np.float64))
    return grouped.with_columns(pl.when(grouped["missing"] == 0).then(scores.reshape((-1, 1)).arr.to_list()).alias("statistics"))


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The same items at two configurations; `left` counts the items that only one of them scored."""

    reference: ItemScores
    candidate: ItemScores
    left: int


def paired(measured: RecordData, configuration: str, task: str, metric: str) -> Paired:
    """A configuration's items beside those of the base."""
    return matched(*(item_scores(measured, name, task, metric) for name in (measured.base, configuration)))


def matched(reference: ItemScores, candidate: ItemScores) -> Paired:
    """The items that both sides scored, of one record or of two."""
    ours, theirs = set(reference.items), set(candidate.items)
    return Paired(reference=only(reference, ours & theirs), candidate=only(candidate, ours & theirs), left=len(ours ^ theirs))


def only(scores: ItemScores, items: Container[str]) -> ItemScores:
    """The scores of some items."""
    kept = np.array([item in items for item in scores.items], dtype=bool)
    return replace(
        scores,
        items=tuple(item for item in scores.items if item in items),
        rows=scores.rows[kept],
        weights=scores.weights[kept],
        clusters=tuple(label for label, keep in zip(scores.clusters, kept, strict=True) if keep),
    )


@dataclass(frozen=True, kw_only=True)
class Confidences:
    """Of each item with several choices: the probability of the chosen one, whether it is right, and its cluster."""

    stated: Array  # [items]
    right: Array  # [items], 0 or 1
    clusters: tuple[str | None, ...]

    @property
    def labels(self) -> tuple[str | None, ...] | None:
        """The clusters; None if no item has one."""
        return None if all(label is None for label in self.clusters) else self.clusters


def choices_were_rated(measured: RecordData) -> bool:
    """True if any task was answered by log probabilities of choices."""
    return any(facts.get("method") == METHOD for facts in identity(measured).values())


def confidences(measured: RecordData, configuration: str) -> Confidences:
    """The first repetition of every item of tasks of choices."""
    rated = [name for name, facts in identity(measured).items() if facts.get("method") == METHOD]
    rows = answers_of(measured, configuration).filter(
        pl.col("task").is_in(rated) & (pl.col("outcome") == "ok") & pl.col("text").is_not_null()
    )
    first = rows.sort("launch").unique(["task", "item"], keep="first", maintain_order=True)
    stated, right, clusters = [], [], []
    for text, references, cluster in first.select("text", "references", "cluster").iter_rows():
        logprobs = np.array([choice.logprob for choice in of_text(text)])
        odds = np.exp(logprobs - logprobs.max())
        odds /= odds.sum()
        if len(odds) > 1:
            stated.append(float(odds.max()))
            right.append(float(str(int(np.argmax(odds))) in json.loads(references)))
            clusters.append(cluster)
    return Confidences(stated=np.array(stated), right=np.array(right), clusters=tuple(clusters))
