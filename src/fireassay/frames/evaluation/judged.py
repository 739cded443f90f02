"""What did a judge say of the answers that people labelled, and of the same pair in both orders?

Pure folds of the tables `ratings`, `preferences` and `answers`.  An item's several judgements or labels at one side are averaged first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.evaluation.item_scores import answers_of, judge_of
from fireassay.frames.record_data import RecordData

Array = NDArray[np.float64]
ITEM = ["task", "item"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """Judge and people on the labelled answers of one side; equal lengths."""

    judge: Array
    gold: Array
    doublings: Array  # log2 of the answer's length in characters; of pairs that of its ratio to the first side's
    weights: Array
    labels: Sequence[str | None] | None  # clusters; None: no item has one


@dataclass(frozen=True, kw_only=True, eq=False)
class BothOrders:
    """Pairs that the judge decided in both orders; the values are those of the answer shown first: 1 won, 0.5 tie, 0 lost."""

    ahead: Array  # the first side shown first
    behind: Array  # the other side shown first
    weights: Array
    labels: Sequence[str | None] | None


def beside_gold(measured: RecordData, configuration: str) -> Beside:
    """The labelled answers of a configuration that the judge judged; of pairs none of the first side's."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    rated = measured.table("ratings").join(launches, on="launch", how="semi").filter(pl.col("rating").is_not_null())
    judged, people = (rated.filter(pl.col("kind") == kind).group_by(ITEM).agg(pl.col("rating").mean()) for kind in ("judge", "person"))
    rows = (
        judged.join(people, on=ITEM, suffix="_gold")
        .join(_items(measured, configuration), on=ITEM)
        .join(_items(measured, measured.base).select(*ITEM, pl.col("characters").alias("before")), on=ITEM, how="left")
        .sort(ITEM)
    )
    length = pl.col("characters").clip(1).log(2.0)
    doublings = length - pl.col("before").fill_null(1.0).clip(1).log(2.0) if judge_of(measured).pairs else length
    rows = rows.with_columns(doublings=doublings)
    return Beside(
        judge=rows["rating"].to_numpy().astype(np.float64),
        gold=rows["rating_gold"].to_numpy().astype(np.float64),
        doublings=rows["doublings"].to_numpy().astype(np.float64),
        weights=rows["weight"].to_numpy().astype(np.float64),
        labels=_labels(rows),
    )


def both_orders(measured: RecordData, configuration: str) -> BothOrders:
    """The pairs of a configuration with the first side."""
    names = {one.name: one.target for one in measured.varied}
    other, base = names.get(configuration, ""), names.get(measured.base, "")
    rows = measured.table("preferences").filter((pl.col("kind") == "judge") & pl.col("choice").is_not_null())
    value = pl.col("choice").replace_strict({"first": 1.0, "tie": 0.5, "second": 0.0}, return_dtype=pl.Float64)
    orders = [
        rows.filter((pl.col("first") == first) & (pl.col("second") == second))
        .with_columns(value=value)
        .group_by(ITEM)
        .agg(pl.col("value").mean())
        for first, second in ((base, other), (other, base))
    ]
    both = orders[0].join(orders[1], on=ITEM, suffix="_behind").join(_items(measured, configuration), on=ITEM).sort(ITEM)
    return BothOrders(
        ahead=both["value"].to_numpy().astype(np.float64),
        behind=both["value_behind"].to_numpy().astype(np.float64),
        weights=both["weight"].to_numpy().astype(np.float64),
        labels=_labels(both),
    )


def unread(measured: RecordData, configuration: str) -> tuple[dict[str, int], int]:
    """How many judgements of a configuration there are not, by outcome, and how many were asked for."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    rows = measured.table("ratings").join(launches, on="launch", how="semi").filter(pl.col("kind") == "judge")
    counts = rows.filter(pl.col("outcome") != "ok").group_by("outcome").len().sort("outcome")
    return dict(counts.iter_rows()), rows.height


def _items(measured: RecordData, configuration: str) -> pl.DataFrame:
    """Task, item, characters of the answer, weight and cluster."""
    answered = answers_of(measured, configuration).filter(pl.col("text").is_not_null())
    return answered.group_by(ITEM).agg(
        pl.col("text").str.len_chars().cast(pl.Float64).mean().alias("characters"), pl.col("weight").first(), pl.col("cluster").first()
    )


def _labels(rows: pl.DataFrame) -> Sequence[str | None] | None:
    return None if rows["cluster"].null_count() == rows.height else rows["cluster"].to_list()
