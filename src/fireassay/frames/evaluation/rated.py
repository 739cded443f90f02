"""Who gave which rating, who chose which side, and what do automatic scores say of the same answers?

Pure folds of the tables `ratings`, `preferences` and `scores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.spec.sections.ratings import AUTOMATIC
from fireassay.stats.people.automatic_score import Rated
from fireassay.stats.people.crossed_raters import codes
from fireassay.stats.people.paired_comparison import FIRST, SECOND, TIE, Choices

Array = NDArray[np.float64]
KEYS = ["launch", "task", "item", "repetition"]
OUTCOMES = {"first": FIRST, "tie": TIE, "second": SECOND}


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Ratings of one side in the order of items, raters and repetitions; equal lengths."""

    side: str  # as the other side of a choice names it
    items: tuple[str, ...]
    raters: tuple[str, ...]
    against: tuple[str | None, ...]
    values: Array

    @property
    def people(self) -> int:
        """How many raters there are."""
        return len(set(self.raters))


def cells_of(measured: RecordData, launches: pl.DataFrame, task: str, metric: str) -> Cells | None:
    """The ratings behind a score; None if its answers are no ratings."""
    ratings = measured.table("ratings")
    if ratings.height == 0 or by_judge(measured):
        return None
    scores = measured.table("scores").filter((pl.col("metric") == metric) & pl.col("score").is_not_null())
    rows = (
        ratings.filter(pl.col("task") == task)
        .join(launches, on="launch", how="semi")
        .join(scores.select(*KEYS, "score"), on=KEYS, how="inner")
        .sort("item", "rater", "repetition")
    )
    if rows.height == 0:
        return None
    named = {configuration.name: configuration.target for configuration in measured.varied}
    launch = measured.timed.filter(pl.col("launch") == rows["launch"][0])["configuration"]
    return Cells(
        side=named.get(launch[0], "") if launch.len() else "",
        items=tuple(rows["item"].to_list()),
        raters=tuple(rows["rater"].to_list()),
        against=tuple(rows["against"].to_list()),
        values=rows["score"].to_numpy().astype(np.float64),
    )


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Differences, candidate minus reference, of the ratings that one rater gave both sides of an item."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    values: Array


@lru_cache(maxsize=16)
def meeting(reference: Cells, candidate: Cells) -> Meeting:
    """Both sides' ratings paired by item and rater; choices only where the two sides met each other."""
    ours, theirs = _by_pair(reference, candidate.side), _by_pair(candidate, reference.side)
    both = [key for key in ours if key in theirs]
    values = np.array([theirs[key] - ours[key] for key in both], dtype=np.float64)
    return Meeting(items=tuple(item for item, _ in both), raters=tuple(rater for _, rater in both), values=values)


def _by_pair(cells: Cells, other: str) -> dict[tuple[str, str], float]:
    """(item, rater) -> mean of the ratings, which are one as a rule."""
    sums: dict[tuple[str, str], list[float]] = {}
    for item, rater, against, value in zip(cells.items, cells.raters, cells.against, cells.values, strict=True):
        if against is None or against == other:
            sums.setdefault((item, rater), []).append(float(value))
    return {key: sum(values) / len(values) for key, values in sums.items()}


def by_judge(measured: RecordData) -> bool:
    """True if a model judged the answers, which then are texts; the record has its ratings too."""
    evaluation = measured.experiment.evaluation
    return evaluation is not None and evaluation.judge is not None


@once_per_record
def were_rated(measured: RecordData) -> bool:
    """True if the answers are ratings themselves."""
    return not by_judge(measured) and measured.table("ratings").height > 0


@once_per_record
def preferences(measured: RecordData) -> pl.DataFrame:
    """The choices that were made, in the order in which they were given; empty if there are none."""
    timed = measured.table("preferences").join(measured.timed.select("launch"), on="launch", how="semi")
    return timed.filter(pl.col("choice").is_not_null()).sort("position", "rater", "item", "launch", "repetition", nulls_last=True)


def choices_of(rows: pl.DataFrame, sides: Sequence[str]) -> Choices:
    """Choices as codes of these sides, of which others are left out."""
    kept = rows.filter(pl.col("first").is_in(sides) & pl.col("second").is_in(sides))
    number = {side: index for index, side in enumerate(sides)}
    return Choices(
        first=np.array([number[side] for side in kept["first"]], dtype=np.intp),
        second=np.array([number[side] for side in kept["second"]], dtype=np.intp),
        outcome=np.array([OUTCOMES[choice] for choice in kept["choice"]], dtype=np.intp),
        items=codes(list(zip(kept["task"], kept["item"], strict=True))),
        raters=codes(kept["rater"].to_list()),
        sides=len(sides),
        ordered=bool((kept["shown"] == 1).all()),
    )


def item_shares(rows: pl.DataFrame, side: str, other: str, each: int | None) -> Array:
    """The share of `side` against `other` on each item, a tie being half, in the order in which the items were complete.

    An item is complete with its first `each` choices, and further ones do not count; None: with all that there are.
    """
    met = rows.filter(((pl.col("first") == side) & (pl.col("second") == other)) | ((pl.col("first") == other) & (pl.col("second") == side)))
    won = (
        pl.when(pl.col("choice") == "tie")
        .then(0.5)
        .when((pl.col("choice") == "first") == (pl.col("first") == side))
        .then(1.0)
        .otherwise(0.0)
    )
    met = met.with_row_index("place").with_columns(won=won, turn=pl.int_range(pl.len()).over("task", "item"))
    if each is not None:
        met = met.filter((pl.col("turn") < each) & (pl.len().over("task", "item") >= each))
    folded = met.group_by("task", "item").agg(pl.col("won").mean(), pl.col("place").max()).sort("place")
    return folded["won"].to_numpy().astype(np.float64)


@once_per_record
def automatic_scores(measured: RecordData) -> tuple[str, ...]:
    """The names of automatic scores of what people rated."""
    names = measured.table("scores").filter(pl.col("metric").str.starts_with(AUTOMATIC))["metric"].unique().sort().to_list()
    return tuple(name.removeprefix(AUTOMATIC) for name in names)


def beside_people(measured: RecordData, name: str) -> Rated:
    """People's mean rating and an automatic score of every item at every side that have both."""
    scores = measured.table("scores").filter((pl.col("metric") == AUTOMATIC + name) & pl.col("score").is_not_null())
    ratings = measured.table("ratings").filter(pl.col("rating").is_not_null())
    rows = (
        ratings.join(scores.select(*KEYS, "score"), on=KEYS, how="inner")
        .join(measured.timed.select("launch", "configuration"), on="launch")
        .group_by("task", "item", "configuration")
        .agg(pl.col("rating").mean(), pl.col("score").mean())
        .sort("task", "item", "configuration")
    )
    return Rated(
        people=rows["rating"].to_numpy().astype(np.float64),
        score=rows["score"].to_numpy().astype(np.float64),
        items=codes(list(zip(rows["task"], rows["item"], strict=True))),
        sides=codes(rows["configuration"].to_list()),
    )
