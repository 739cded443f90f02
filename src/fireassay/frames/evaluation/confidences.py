"""How sure was the model of its choice, and was it right?  The softmax over the log probabilities of an item's choices."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from fireassay.frames.evaluation.item_scores import answers_of, identity
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.likelihoods import METHOD, of_text
from fireassay.quality.scoring.text_metric import Array


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
