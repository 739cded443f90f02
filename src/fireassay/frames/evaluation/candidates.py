"""What does the best of k candidates for an item score, and what do they take?

Candidates are an item's scored answers: of every launch and repetition, in any order.  Score: the expected best of k of the n (`stats.best_of`), so
that all count at every k.  Time and dollars: k times the mean candidate's, and from k = 2 its scorer's, since a single one needs no choice.  At once:
the expected longest of k.  Candidates without a score take time, too, and are not counted.

How does another score judge the choice?  Its value of the candidate that the deciding score chooses, against a random one and its own best, over
the items of which every candidate counted has both scores.  *Optimism* is how much more the deciding score gains by the choice than the other.
It is a difference of scores, so only of two with the same declared scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fireassay.frames.evaluation.item_scores import ItemScores, answers_of, deciding, metric_of, metrics_of, tasks
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.text_metric import Array
from fireassay.spec.sections.given_scores import AMOUNT, UNBOUNDED
from fireassay.stats.best_of import expected_best, expected_chosen

KEYS: Final = ["launch", "task", "item", "repetition"]
Row = Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Best:
    """The best of k candidates for one item; NaN: not known."""

    score: float
    session_s: float
    at_once_s: float
    sums: Mapping[str, float]


def best(rows: Sequence[Row], k: int, names: Sequence[str], *, lower: bool) -> Best | None:
    """Of an item's candidates, with amounts of these names; None where fewer than k have a score."""
    scored = [row for row in rows if row["score"] is not None]
    if len(scored) < k:
        return None
    sign = -1.0 if lower else 1.0
    times, choosing = _column(scored, "e2e_s"), 0.0 if k == 1 else float(k)
    scorer_s = choosing * float(_column(scored, "scorer_s").mean())
    sums = {name: k * float(_column(scored, name).mean()) for name in names}
    if "usd" in sums:
        sums["usd"] += choosing * float(_column(scored, "scorer_usd").mean())
    return Best(
        score=sign * expected_best(sign * _column(scored, "score"), k),
        session_s=k * float(times.mean()) + scorer_s,
        at_once_s=expected_best(times, k) + scorer_s,
        sums=sums,
    )


def _column(rows: Sequence[Row], name: str) -> Array:
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def amounts(measured: RecordData) -> pl.DataFrame:
    """(launch, task, item, repetition) with the seconds and dollars of a candidate and of its scorer, as fields of a file hold them."""
    rows = measured.table("scores").filter(pl.col("metric").str.starts_with(AMOUNT)).select(*KEYS, "metric", "statistics")
    found = rows.select(KEYS).unique()
    for what, own, scorer in (("seconds", "e2e_s", "scorer_s"), ("usd", "usd", "scorer_usd")):
        of_one = rows.filter(pl.col("metric") == f"{AMOUNT}{what}")
        terms = (pl.col("statistics").list.get(place).alias(name) for place, name in enumerate((own, scorer)))
        found = found.join(of_one.select(*KEYS, *terms), on=KEYS, how="left")
    return found


# ---- the choice in the eyes of another score -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What another score says of the best of k by the deciding one; rows of shape [items, 1] in the order of ids, better is positive for gains."""

    task: str
    configuration: str
    by: str  # the deciding score
    other: str
    k: int
    value: ItemScores  # the other score of the chosen candidate
    random: ItemScores  # of a random one
    own_best: ItemScores  # of its own best of k
    gain: ItemScores  # of the other score by the choice
    optimism: ItemScores | None  # the deciding score's gain less the other's; None: their scales differ, or one is not declared
    left: int  # items without a candidate that has both scores


def judged(measured: RecordData, levels: Sequence[int]) -> Iterator[Judged]:
    """Of every task, side, further score and number of candidates that the items have."""
    for task in tasks(measured):
        by = deciding(measured, task)
        for other in metrics_of(measured, task)[1:]:
            if all(metric_of(measured, name).statistics == ("score",) for name in (by, other)):
                for configuration in measured.configurations:
                    yield from _judged(measured, configuration, task, (by, other), levels)


def _judged(measured: RecordData, configuration: str, task: str, names: tuple[str, str], levels: Sequence[int]) -> Iterator[Judged]:
    metrics = [metric_of(measured, name) for name in names]
    signs = [-1.0 if metric.better == "lower" else 1.0 for metric in metrics]
    pairs = _pairs(measured, configuration, task, names)
    items = answers_of(measured, configuration).filter(pl.col("task") == task)["item"].n_unique()
    same = metrics[0].scale == metrics[1].scale != UNBOUNDED and metrics[0].better == metrics[1].better
    grouped = [
        (str(item), rows["by"].to_numpy() * signs[0], rows["of"].to_numpy() * signs[1], rows["weight"][0], rows["cluster"][0])
        for (item,), rows in pairs.group_by("item", maintain_order=True)
    ]
    fewest = min((len(by) for _, by, *_ in grouped), default=0)
    for k in (level for level in levels if level <= fewest):
        found = np.array([_of_item(by, of, k) for _, by, of, *_ in grouped])

        def scores(values: Array, sign: float = 1.0, k: int = k) -> ItemScores:
            return ItemScores(
                metric=metrics[1],
                items=tuple(one[0] for one in grouped),
                rows=(sign * values)[:, None],
                weights=np.array([one[3] for one in grouped], dtype=np.float64),
                clusters=tuple(one[4] for one in grouped),
                repetitions=k,
                launches=1,
                unscored=0,
            )

        chosen, plain, own, selector = found.T
        yield Judged(
            task=task,
            configuration=configuration,
            by=names[0],
            other=names[1],
            k=k,
            value=scores(chosen, signs[1]),
            random=scores(plain, signs[1]),
            own_best=scores(own, signs[1]),
            gain=scores(chosen - plain),
            optimism=scores(selector - (chosen - plain)) if same else None,
            left=items - len(grouped),
        )


def _of_item(by: Array, of: Array, k: int) -> tuple[float, float, float, float]:
    """The other score of the chosen one, of a random one and of its own best; what the deciding score gains."""
    return expected_chosen(by, of, k), float(of.mean()), expected_best(of, k), expected_best(by, k) - float(by.mean())


def _pairs(measured: RecordData, configuration: str, task: str, names: tuple[str, str]) -> pl.DataFrame:
    """A row for each candidate with both scores."""
    found = answers_of(measured, configuration).filter(pl.col("task") == task).select(*KEYS, "cluster", "weight")
    for name, column in zip(names, ("by", "of"), strict=True):
        scores = measured.table("scores").filter((pl.col("metric") == name) & pl.col("score").is_not_null())
        found = found.join(scores.select(*KEYS, pl.col("score").alias(column)), on=KEYS)
    return found.sort("item", "launch", "repetition")
