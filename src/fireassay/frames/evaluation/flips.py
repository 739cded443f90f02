"""How many answers score otherwise than the reference's, and how many of the reference's own when it was asked again?

Flips: equal means hide items that changed (Dutta et al., "Accuracy is not all you need", arXiv:2407.09141).  Of each item, every answer of
one side is set beside every answer of the other, and beside every other one of the same side; its flips are the share of these pairs whose scores
differ.  So sides that were asked several times compare with those asked once, and the reference against itself is the noise floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Estimate
from fireassay.frames.evaluation.item_scores import Answers, answers_of
from fireassay.frames.record_data import RecordData
from fireassay.stats.comparing.noninferiority import units_of
from fireassay.stats.intervals import bounded_mean
from fireassay.units import FRACTION

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
    asked = answers_of(measured, configuration).filter(pl.col("task") == task).select(*KEYS, "cluster", "weight")
    scored = measured.table("scores").filter((pl.col("metric") == metric) & pl.col("score").is_not_null())
    joined = asked.join(scored.select(*KEYS, "score"), on=KEYS)
    counted = joined.group_by("item", "score").agg(pl.len(), pl.col("cluster", "weight").first())
    return counted.with_columns(pl.col("len").cast(pl.Int64))


def _items(counted: pl.DataFrame) -> pl.DataFrame:
    return counted.group_by("item").agg(pl.col("cluster", "weight").first(), answers=pl.col("len").sum())
