"""How much did each item score, take and cost with so many steps?

Items are the sample: a row for each item of a curve, at every level the same ones.  A *curve* is one task at one engine.

    samples            the first k answers are k steps.  Score: the expected score of a vote of k of the n answers (`stats.votes`), so every
                       answer counts at every level.  Time: the sum over the first k, as if one after another; at once: the longest of them.
    turns              turn k is k steps.  Score: that of the answer after it.  Time: from the first turn's start to the end of the k-th.
    reasoning_tokens   each budget is a configuration.  Score and time of its answers.
    candidates         the best of k (`frames.evaluation.candidates`), up to the smallest number that an item has.

Tokens are those of all requests up to that step, by the server's usage, else the tokenizer; of samples the mean per answer times k.
Dollars: tokens at their price, and of what else a launch cost the share of its requests' time.
Repeated answers (other launches) of turns and budgets are averaged first.  An item that lacks an answer or a score at any level is left out of
the whole curve, and counted.

Cannot tell: what samples cost if an engine shares the prompt's prefill between them, or how long they take in one request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from fireassay.frames.costs import launch_usd, requests_usd
from fireassay.frames.evaluation.candidates import amounts, best
from fireassay.frames.evaluation.item_scores import ItemScores, deciding, metric_of, tasks
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.text_metric import Array, TextMetric
from fireassay.spec.sections.steps import Steps
from fireassay.stats.votes import shares
from fireassay.units import NS_PER_S

KEYS: Final = ["launch", "task", "item", "repetition"]
SUMS: Final = ("tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached", "usd", "tool_s")
UNSENT: Final = tuple(name for name in SUMS if name != "usd")  # what no request of a file's answers has
TOOLS: Final = ("tool", "retrieval")


@dataclass(frozen=True, kw_only=True)
class Level:
    """A number of steps: arrays of shape [items] in the order of `scores.items`; NaN: unknown of that item."""

    steps: int
    configuration: str
    scores: ItemScores
    session_s: Array
    at_once_s: Array  # of samples, were they sent together; else as `session_s`
    sums: Mapping[str, Array]  # of each of SUMS


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A task at an engine, levels ascending."""

    task: str
    engine: str
    levels: tuple[Level, ...]
    left: int  # items without an answer or a score at some level
    unreached: tuple[int, ...] = ()  # levels that no item has, since the record ended before; of candidates that not all items have
    short: int = 0  # candidates: items with fewer than the largest level
    rises: bool = False  # no item scores worse at a larger level
    tied: int  # samples: items whose vote of all of them is tied


def steps_of(measured: RecordData) -> Steps | None:
    """The steps that a record compares; None if it compares none."""
    return measured.experiment.steps


def compares_budgets(measured: RecordData) -> bool:
    """True if the configurations are numbers of steps of one engine, and no sides of a comparison."""
    steps = steps_of(measured)
    return steps is not None and steps.what == "reasoning_tokens"


def chooses(measured: RecordData) -> bool:
    """True if the answers to an item are candidates, of which one is chosen."""
    steps = steps_of(measured)
    return steps is not None and steps.what == "candidates"


def curves(measured: RecordData) -> tuple[Curve, ...]:
    """Every curve of a record; none where no steps are compared, nothing was scored, or the score is no mean over items."""
    return measured.once("curves over steps", lambda data: tuple(_curves(data)))


def _curves(measured: RecordData) -> Iterator[Curve]:
    steps = steps_of(measured)
    if steps is None:
        return
    engines = dict.fromkeys(configuration.target for configuration in measured.varied)
    for task in tasks(measured):
        name = deciding(measured, task)
        metric = metric_of(measured, name) if name else None
        if metric is None or metric.corpus or metric.whole is not None or len(metric.statistics) != 1:
            continue
        for engine in engines:
            if (curve := _curve(measured, steps, task, metric, engine)) is not None:
                yield curve


def _curve(measured: RecordData, steps: Steps, task: str, metric: TextMetric, engine: str) -> Curve | None:
    answers = _answers(measured, task, metric, engine)
    lower = metric.better == "lower"
    found = {level: dict(_items(answers, steps, level, lower=lower)) for level in sorted(steps.levels)}
    levels = [level for level, items in found.items() if items and (steps.what != "candidates" or len(items) == len(found[1]))]
    complete = sorted(set.intersection(*(set(found[level]) for level in levels))) if len(levels) > 1 else []
    if not complete:
        return None
    about = answers.unique("item").filter(pl.col("item").is_in(complete)).sort("item")
    tied = sum(found[levels[-1]][item].tied for item in complete)
    return Curve(
        task=task,
        engine=engine,
        levels=tuple(_level(answers, level, [found[level][item] for item in complete], about, metric) for level in levels),
        left=answers["item"].n_unique() - len(complete),
        unreached=tuple(level for level in found if level not in levels),
        rises=steps.what == "candidates",
        short=len(complete) - len(found[max(found)]) if steps.what == "candidates" else 0,
        tied=tied,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """An item at a level."""

    score: float
    session_s: float
    at_once_s: float
    sums: tuple[float, ...]
    tied: bool = False


Fold = Callable[[list[Mapping[str, object]], int], _Item | None]


def _level(answers: pl.DataFrame, level: int, items: list[_Item], about: pl.DataFrame, metric: TextMetric) -> Level:
    sums = np.array([one.sums for one in items]).reshape(len(items), len(SUMS))
    budget = pl.col("steps") == level
    of_level = answers.filter(budget) if answers["steps"].null_count() < answers.height else answers
    scores = ItemScores(
        metric=metric,
        items=tuple(about["item"].to_list()),
        rows=np.array([[one.score] for one in items]),
        weights=about["weight"].to_numpy(),
        clusters=tuple(about["cluster"].to_list()),
        repetitions=int(of_level.group_by("item").len()["len"].max() or 0),  # type: ignore[arg-type]
        launches=of_level["launch"].n_unique(),
        unscored=0,
    )
    return Level(
        steps=level,
        configuration=str(of_level["configuration"][0]),
        scores=scores,
        session_s=np.array([one.session_s for one in items]),
        at_once_s=np.array([one.at_once_s for one in items]),
        sums={name: sums[:, place] for place, name in enumerate(SUMS)},
    )


# ---- answers with their scores, times and costs ----------------------------------------------------------------------


def _answers(measured: RecordData, task: str, metric: TextMetric, engine: str) -> pl.DataFrame:
    """A row for each requested answer of an engine, in the order of the requests; `score` is null where there is none."""
    of_engine = {one.name: one.steps for one in measured.varied if one.target == engine}
    launches = measured.timed.filter(pl.col("configuration").is_in(list(of_engine))).select("launch", "block", "configuration")
    budgets = launches.with_columns(pl.col("configuration").replace_strict(of_engine, return_dtype=pl.Int64).alias("steps"))
    rows = measured.table("answers").filter(pl.col("task") == task).select(*KEYS, "request", "answer", "cluster", "weight", "outcome")
    scores = measured.table("scores").filter(pl.col("metric") == metric.name).select(*KEYS, "score")
    joined = rows.join(budgets, on="launch").join(scores, on=KEYS, how="left")
    if measured.experiment.serving is None:
        unsent = (pl.lit(0.0 if name == "tool_s" else None, pl.Float64).alias(name) for name in UNSENT)
        joined = joined.join(amounts(measured), on=KEYS, how="left").with_columns(unsent)
    else:
        known = _requests(measured).with_columns(pl.lit(0.0).alias("scorer_s"), pl.lit(0.0).alias("scorer_usd"))
        joined = joined.join(known, on=["launch", "request"], how="left")
    answered = pl.when(pl.col("outcome") == "ok").then(pl.col("score"))
    return joined.with_columns(answered.alias("score")).sort("item", "block", "launch", "repetition")


def _requests(measured: RecordData) -> pl.DataFrame:
    """(launch, request) with begin, end and duration in seconds, and the amounts of `SUMS`; null: unknown."""
    served = measured.timed_requests.select(
        *("launch", "request", "start_ns", "last_token_ns", "done_ns", "e2e_s", "tokens_in", "tokens_reasoning", "tokens_cached"),
        pl.col("tokens").alias("tokens_out"),
    )
    pauses = measured.table("arrivals").select("launch", "request", "pause_ns", "pause_kind")
    in_tools = pl.when(pl.col("pause_kind").is_in(TOOLS)).then(pl.col("pause_ns") / NS_PER_S).otherwise(0.0)
    joined = served.join(pauses, on=["launch", "request"], how="left").with_columns(
        in_tools.fill_null(0.0).alias("tool_s"), pl.coalesce("last_token_ns", "done_ns").alias("ended_ns")
    )
    return joined.join(_usd(measured), on=["launch", "request"], how="left").drop("last_token_ns", "done_ns", "pause_ns", "pause_kind")


def _usd(measured: RecordData) -> pl.DataFrame:
    """(launch, request, usd)."""
    served = measured.timed_requests.select("launch", "request", "e2e_s")
    if measured.experiment.prices is None:
        return served.select("launch", "request", pl.lit(None, pl.Float64).alias("usd"))
    tokens = requests_usd(measured).rename({"usd": "of_tokens"})
    joined = served.join(tokens, on=["launch", "request"], how="left").join(launch_usd(measured, measured.timed), on="launch", how="left")
    priced = measured.experiment.prices.prices_tokens
    of_tokens = pl.col("of_tokens") if priced else pl.lit(0.0)
    rest = pl.col("value") - of_tokens.sum().over("launch")
    of_time = rest * pl.col("e2e_s") / pl.col("e2e_s").sum().over("launch")
    return joined.select("launch", "request", (of_tokens + of_time).alias("usd"))


# ---- one item at one level -------------------------------------------------------------------------------------------


def _items(answers: pl.DataFrame, steps: Steps, level: int, *, lower: bool) -> Iterator[tuple[str, _Item]]:
    """The items that have a score at a level."""
    if steps.what == "reasoning_tokens":
        answers = answers.filter(pl.col("steps") == level)
    by_item: dict[str, list[Mapping[str, object]]] = defaultdict(list)
    for row in answers.iter_rows(named=True):
        by_item[row["item"]].append(row)
    folds: dict[str, Fold] = {"samples": _voted, "turns": _after_turn, "candidates": partial(_chosen, lower=lower)}
    fold = folds.get(steps.what, _budgeted)
    for item, rows in by_item.items():
        if (found := fold(rows, level)) is not None:
            yield item, found


def _voted(rows: list[Mapping[str, object]], k: int) -> _Item | None:
    """A vote of k of an item's samples; None where fewer than k have a score."""
    scored = [row for row in rows if row["score"] is not None]
    if len(scored) < k:
        return None
    of_answer: dict[object, list[float]] = defaultdict(list)
    for row in scored:
        of_answer[row["answer"]].append(_number(row["score"]))
    blank = of_answer.pop(None, [])
    won, nothing = shares([len(some) for some in of_answer.values()], len(blank), k)
    score = sum(share * float(np.mean(some)) for share, some in zip(won, of_answer.values(), strict=True))
    score += nothing * float(np.mean(blank)) if blank else 0.0
    times = [_number(row["e2e_s"]) for row in scored[:k]]
    most = sorted((len(some) for some in of_answer.values()), reverse=True)
    return _Item(
        score=score,
        session_s=sum(times),
        at_once_s=max(times),
        sums=tuple(k * float(np.mean([_number(row[name]) for row in scored])) for name in SUMS),
        tied=len(most) > 1 and most[0] == most[1],
    )


def _chosen(rows: list[Mapping[str, object]], k: int, *, lower: bool) -> _Item | None:
    """The best of k candidates; None where fewer than k have a score."""
    found = best(rows, k, SUMS, lower=lower)
    if found is None:
        return None
    sums = tuple(found.sums[name] for name in SUMS)
    return _Item(score=found.score, session_s=found.session_s, at_once_s=found.at_once_s, sums=sums)


def _after_turn(rows: list[Mapping[str, object]], k: int) -> _Item | None:
    """After the k-th turn, averaged over launches; None where some launch lacks a turn up to there, or its score."""
    sessions: dict[object, list[Mapping[str, object]]] = defaultdict(list)
    for row in rows:
        if int(_number(row["repetition"])) < k:
            sessions[row["launch"]].append(row)
    whole = [session for session in sessions.values() if len(session) == k and all(row["score"] is not None for row in session)]
    if not whole or len(whole) < len(sessions):
        return None
    return _averaged([_session(session) for session in whole])


def _session(turns: list[Mapping[str, object]]) -> _Item:
    begin, end = min(_number(row["start_ns"]) for row in turns), max(_number(row["ended_ns"]) for row in turns)
    time_s = (end - begin) / NS_PER_S
    sums = tuple(sum(_number(row[name]) for row in turns) for name in SUMS)
    last = max(turns, key=lambda row: _number(row["repetition"]))
    return _Item(score=_number(last["score"]), session_s=time_s, at_once_s=time_s, sums=sums)


def _budgeted(rows: list[Mapping[str, object]], _: int) -> _Item | None:
    """One request a session, averaged over launches."""
    if any(row["score"] is None for row in rows):
        return None
    return _averaged([_session([row]) for row in rows])


def _averaged(items: list[_Item]) -> _Item:
    means = np.array([(one.score, one.session_s, one.at_once_s, *one.sums) for one in items]).mean(axis=0).tolist()
    return _Item(score=means[0], session_s=means[1], at_once_s=means[2], sums=tuple(means[3:]))


def _number(value: object) -> float:
    """NaN where it is not known."""
    return float("nan") if value is None else float(value)  # type: ignore[arg-type]
