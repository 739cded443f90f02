"""Which items score otherwise at a side than at its reference, and what did both say?  Of one record or of two, paired by task and id.

An item's score is that of its task's deciding metric, averaged over repetitions; its texts are those of the first repetition,
or of the one that the majority gave.

How many answers score otherwise than the reference's, and how many of the reference's own when it was asked again?

Flips: equal means hide items that changed (Dutta et al., "Accuracy is not all you need", arXiv:2407.09141).  Of each item, every answer of
one side is set beside every answer of the other, and beside every other one of the same side; its flips are the share of these pairs whose scores
differ.  So sides that were asked several times compare with those asked once, and the reference against itself is the noise floor.  Where the
majority of its repetitions is an item's answer, each side has that one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Estimate
from fireassay.frames.evaluation.images import ItemImage, image_shown
from fireassay.frames.evaluation.item_scores import Answers, answers_of, by_majority, deciding, identity, item_scores, matched, tasks, voted
from fireassay.frames.evaluation.judgements import said_of
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.likelihoods import METHOD, of_text
from fireassay.stats.comparing.noninferiority import units_of
from fireassay.stats.intervals import bounded_mean
from fireassay.units import FRACTION

Texts = Mapping[tuple[str, str], Mapping[str, str | None]]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """An item that scores otherwise at a side than at the reference."""

    task: str
    item: str
    side: str  # its label
    prompt: str
    reference: str
    before: str  # what the reference side answered
    after: str
    score_before: float
    score_after: float
    better: bool  # at the side
    judged: str = ""  # what a judge said of both answers, and why; empty: no model judged
    images: tuple[ItemImage, ItemImage] | None = None  # of answers that are images: the reference side's and this one's, with their scores

    @property
    def size(self) -> float:
        """How far the score moved."""
        return abs(self.score_after - self.score_before)


def flipped(reference: tuple[RecordData, str], candidate: tuple[RecordData, str], side: str) -> list[Flip]:
    """All of them, the largest changes first, losses before gains; both are a record and one of its configurations."""
    return sorted(_flipped(reference, candidate, side), key=lambda flip: (-flip.size, flip.better))


def in_turn(sides: Iterable[list[Flip]]) -> list[Flip]:
    """Those of several sides, so that any first part of them has its share of each side."""
    return [flip for flip in chain.from_iterable(zip_longest(*sides)) if flip is not None]


def _flipped(reference: tuple[RecordData, str], candidate: tuple[RecordData, str], side: str) -> Iterator[Flip]:
    before, after = _texts(*reference), _texts(*candidate)
    said, said_after = said_of(*reference), said_of(*candidate)
    for task in tasks(reference[0]):
        metric = deciding(reference[0], task)
        if not metric:
            continue
        pairs = matched(*(item_scores(*one, task, metric) for one in (reference, candidate)))
        if not pairs.reference.items:
            continue
        first, second = (one.metric.item_scores(one.rows) for one in (pairs.reference, pairs.candidate))
        sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
        for index in np.flatnonzero(first != second):
            key = (task, pairs.reference.items[index])
            earlier = before.get(key, {})
            yield Flip(
                task=task,
                item=key[1],
                side=side,
                prompt=earlier.get("prompt") or "",
                reference=" | ".join(json.loads(earlier.get("references") or "[]")),
                before=earlier.get("text") or "",
                after=after.get(key, {}).get("text") or "",
                score_before=float(first[index]),
                score_after=float(second[index]),
                better=bool(sign * (second[index] - first[index]) > 0.0),
                judged="\n".join(one[key] for one in (said, said_after) if key in one),
                images=_images(reference, candidate, key),
            )


def _images(reference: Answers, candidate: Answers, key: tuple[str, str]) -> tuple[ItemImage, ItemImage] | None:
    before, after = (image_shown(*side, *key) for side in (reference, candidate))
    return None if before is None or after is None else (before, after)


def _texts(measured: RecordData, configuration: str) -> Texts:
    """(task, item) -> its texts."""
    rated = {name for name, facts in identity(measured).items() if facts.get("method") == METHOD}

    def fold(data: RecordData) -> Texts:
        every = answers_of(data, configuration).sort("launch", "repetition")
        parts = every.partition_by("task", as_dict=True).items()
        each = [voted(part) if by_majority(data, str(task)) else part for (task,), part in parts]
        first = (pl.concat(each) if each else every).unique(["task", "item"], keep="first", maintain_order=True)
        return {
            (task, item): {"prompt": prompt, "references": wanted, "text": _choice(text) if text and task in rated else text}
            for task, item, prompt, wanted, text in first.select("task", "item", "prompt", "references", "text").iter_rows()
        }

    return measured.once(f"texts of {configuration}", fold)


def _choice(text: str) -> str:
    """An answer by log probabilities: the chosen one, as the references name it, and how sure the model was."""
    logprobs = np.array([choice.logprob for choice in of_text(text)])
    odds = np.exp(logprobs - logprobs.max())
    return f"{int(odds.argmax())}, with a confidence of {float(odds.max() / odds.sum()):.2f}"


KEYS = ["launch", "task", "item", "repetition"]


@dataclass(frozen=True, kw_only=True)
class Flips:
    """The share of pairs of answers whose scores differ, of each item that has such pairs."""

    shares: NDArray[np.float64]  # [items], 0 to 1
    weights: NDArray[np.float64]
    clusters: Sequence[str | None]

    @property
    def share(self) -> float:
        """Over all items."""
        return float(np.average(self.shares, weights=self.weights))

    def estimate(self, confidence: float) -> Estimate:
        """The share with one-sided bounds: Gaffke's, which are Clopper and Pearson's for items that were answered once and stand alone."""
        units = units_of(self.shares, None if all(label is None for label in self.clusters) else self.clusters, self.weights)
        return Estimate(
            value=self.share,
            low=bounded_mean.lower(units, 0.0, confidence),
            high=bounded_mean.upper(units, 1.0, confidence),
            unit=FRACTION,
            confidence=confidence,
            n_launches=1,
            n_trials=len(self.shares),
            method=f"share over {len(self.shares):,} items of pairs of answers: Gaffke's one-sided bounds",
            signature="flips|paired:answer|v:1",
        )


def flips(measured: RecordData, configuration: str, task: str, metric: str) -> Flips | None:
    """Of a configuration against the base; of the base against itself, where it was asked more than once.  None: no such pair."""
    return between((measured, measured.base), (measured, configuration), task, metric)


def between(before: Answers, after: Answers, task: str, metric: str) -> Flips | None:
    """The same for configurations of one record or of two."""
    ours, theirs = (_counted(*side, task, metric) for side in (before, after))
    itself = 1 if before[0] is after[0] and before[1] == after[1] else 0  # an answer is no pair with itself
    every = _items(ours).join(_items(theirs).select("item", others="answers"), on="item")
    same = ours.join(theirs.select("item", "score", others="len"), on=["item", "score"])
    same = same.group_by("item").agg(same=(pl.col("len") * (pl.col("others") - itself)).sum())
    pairs = every.join(same, on="item", how="left").with_columns(pairs=pl.col("answers") * (pl.col("others") - itself))
    found = pairs.filter(pl.col("pairs") > 0).with_columns(share=1.0 - pl.col("same").fill_null(0) / pl.col("pairs")).sort("item")
    if not found.height:
        return None
    return Flips(shares=found["share"].to_numpy(), weights=found["weight"].to_numpy(), clusters=found["cluster"].to_list())


def _counted(measured: RecordData, configuration: str, task: str, metric: str) -> pl.DataFrame:
    """How often each item got each score."""
    answers = answers_of(measured, configuration).filter(pl.col("task") == task).select(*KEYS, "cluster", "weight", "answer")
    if by_majority(measured, task):
        answers = voted(answers)
    scored = measured.table("scores").filter((pl.col("metric") == metric) & pl.col("score").is_not_null())
    joined = answers.join(scored.select(*KEYS, "score"), on=KEYS)
    counted = joined.group_by("item", "score").agg(pl.len(), pl.col("cluster", "weight").first())
    return counted.with_columns(pl.col("len").cast(pl.Int64))


def _items(counted: pl.DataFrame) -> pl.DataFrame:
    return counted.group_by("item").agg(pl.col("cluster", "weight").first(), answers=pl.col("len").sum())
