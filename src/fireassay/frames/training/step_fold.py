"""How long did each step of all ranks take?  Ranks folded into steps, one rank after the other.

Each rank is merged into the arrays of its launch's steps, so that memory is one row per step and not one per step and rank. A step is as long
as its slowest rank's; the phases are those of that rank, of equally slow ones the first. The items of a step are added in the order of
ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

PHASES: Final = ("data", "forward", "backward", "optimizer")
COLUMNS: Final = ("launch", "rank", "step", "begin_ns", "end_ns", "checkpoint_ns", *(f"{phase}_ns" for phase in PHASES), "items")
Places = slice | NDArray[np.int64]
_MISSING: Final = np.iinfo(np.int64).min  # a phase without a value
SCHEMA: Final = {
    "launch": pl.Int32,
    "step": pl.Int64,
    "step_s": pl.Float64,
    **{f"{phase}_s": pl.Float64 for phase in PHASES},
    "unknown_s": pl.Float64,
    "items": pl.Float64,
    "ranks": pl.UInt32,
    "fastest_s": pl.Float64,
    "least": pl.Float64,
    "most": pl.Float64,
    "counted": pl.UInt32,
}


def fold(slices: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """One row per (launch, step), ordered: see `RecordData.global_steps`; least, most, counted: of the ranks' items that are known.

    `slices`: the columns `COLUMNS` of steps that counted, by launch and rank.
    """
    done: list[pl.DataFrame] = []
    launch, folding = None, _Steps()
    for some in slices:
        for rows in _ranks(some):
            number = rows["launch"][0]
            if launch is not None and number != launch:
                done.append(folding.frame(launch))
                folding = _Steps()
            launch = number
            folding.add(rows)
    if launch is not None:
        done.append(folding.frame(launch))
    return pl.concat(done) if done else pl.DataFrame(schema=SCHEMA)


def _ranks(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of one rank after the other; a step that a rank recorded twice counts as that of two ranks."""
    begin = 0
    for length in frame.select(pl.struct("launch", "rank").rle().struct.field("len")).to_series():
        rows = frame.slice(begin, length)
        begin += length
        while rows.height:
            twice = ~rows["step"].is_first_distinct() if not _ascending(rows["step"]) else None
            yield rows if twice is None else rows.filter(~twice)
            rows = rows.clear() if twice is None else rows.filter(twice)


def _ascending(steps: pl.Series) -> bool:
    values = steps.to_numpy()
    return bool((values[1:] > values[:-1]).all())


class _Steps:
    """The steps of a launch, over the ranks added so far; times in nanoseconds."""

    def __init__(self) -> None:
        self.step = np.empty(0, np.int64)
        self.of: dict[str, NDArray[Any]] = _none(0)

    def add(self, rows: pl.DataFrame) -> None:
        """Merge a rank's rows, one per step."""
        at = self._places(rows["step"].to_numpy())
        of, phases = self.of, {phase: rows[f"{phase}_ns"] for phase in PHASES}
        pause = rows["checkpoint_ns"]
        own = rows["end_ns"].to_numpy() - rows["begin_ns"].to_numpy()
        own = own if pause.null_count() == rows.height else own - pause.fill_null(0).to_numpy()
        slower = np.flatnonzero(own > of["slowest"][at])
        where, rest = slower if isinstance(at, slice) else at[slower], own[slower]
        of["slowest"][where] = rest
        for phase, ns in phases.items():
            known = ns.to_numpy() if not ns.null_count() else ns.fill_null(_MISSING).to_numpy()
            taken = known[slower]
            rest = rest - (taken if not ns.null_count() else np.where(taken == _MISSING, 0, taken))
            of[phase][where] = taken
        of["rest"][where] = rest
        of["fastest"][at] = np.minimum(of["fastest"][at], own)
        of["ranks"][at] += 1
        self._count(at, rows["items"])

    def _count(self, at: Places, items: pl.Series) -> None:
        of = self.of
        if items.null_count():
            known = items.is_not_null().to_numpy()
            at, items = np.flatnonzero(known) if isinstance(at, slice) else at[known], items.drop_nulls()
        values = items.to_numpy()
        of["items"][at] += values
        of["counted"][at] += 1
        of["least"][at], of["most"][at] = np.fmin(of["least"][at], values), np.fmax(of["most"][at], values)

    def _places(self, steps: NDArray[np.int64]) -> Places:
        """The rows of these steps; makes room for new ones."""
        if np.array_equal(steps, self.step):  # nearly always
            return slice(None)
        if not np.isin(steps, self.step, assume_unique=True).all():
            every = np.union1d(self.step, steps)
            grown, kept = _none(len(every)), np.searchsorted(every, self.step)
            for name, values in self.of.items():
                grown[name][kept] = values
            self.step, self.of = every, grown
        return np.searchsorted(self.step, steps)

    def frame(self, launch: int) -> pl.DataFrame:
        """The steps as rows of `SCHEMA`."""
        seconds = {"step_s": "slowest", **{f"{phase}_s": phase for phase in PHASES}, "unknown_s": "rest", "fastest_s": "fastest"}
        rows, some = pl.DataFrame({"step": self.step, **self.of}), pl.col("counted") > 0
        return rows.select(
            pl.lit(launch).alias("launch"),
            "step",
            *((pl.when(pl.col(ns) != _MISSING).then(ns) / 1e9).alias(name) for name, ns in seconds.items()),
            pl.when(pl.col("counted") == pl.col("ranks")).then("items").alias("items"),
            "ranks",
            pl.when(some).then("least").alias("least"),
            pl.when(some).then("most").alias("most"),
            "counted",
        ).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def _none(count: int) -> dict[str, NDArray[Any]]:
    """No rank yet in so many steps."""
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    integers = {"slowest": low, "fastest": high, "rest": 0, "ranks": 0, "counted": 0, **dict.fromkeys(PHASES, _MISSING)}
    floats = {"items": 0.0, "least": np.nan, "most": np.nan}
    return {name: np.full(count, value, np.float64 if name in floats else np.int64) for name, value in (integers | floats).items()}
