"""Which collectives does torch itself list for a step, and did the hooks record all of them?

The table `inventory` is the content of torch's flight recorder (`fireassay.instruments.recorder.flight_recorder`) at the end of each
rank: calls and bytes of the last steps, from every engine and caller; durations only if NCCL timing was on.
Without hooked calls it gives a step's traffic (and, with durations, its time); otherwise it is compared with the hooked calls,
and calls missing from either are reported.

    unseen calls of a step = max(0, listed - seen), mean over ranks, median over steady steps of a launch, the largest of its launches

Point-to-point calls are not compared: gloo's are not listed. Cannot tell: which communication is exposed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.communication.step_communication import APART
from fireassay.frames.training.communication.watched_steps import all_watched
from fireassay.units import NS_PER_S

_RANK_STEP: Final = ("launch", "rank", "step")
_PAIRED: Final = ("send", "recv")
_NEVER: Final = 0.5  # calls of a step that may be missing: an occasional one belongs to a logger or an evaluation


@dataclass(frozen=True)
class Inventory:
    """Torch's list for the steady steps of one configuration."""

    calls: float  # per step
    nbytes: tuple[float, ...] | None  # bytes per step, by launch; None: of a type with unknown size
    ops: tuple[tuple[str, float], ...]  # operation, calls per step
    seconds: tuple[float, ...] | None  # sum of durations per step, by launch; None: the recorder has none
    seen: float | None  # calls per step recorded by the hooks; None: there were no hooks
    steps: int

    @property
    def unseen(self) -> float:
        """Calls per step that the hooks missed."""
        return 0.0 if self.seen is None or self.calls - self.seen < _NEVER else self.calls - self.seen

    @property
    def words(self) -> str:
        """`4 all_reduce and 1 broadcast a step`."""
        parts = [f"{calls:.3g} {op}" for op, calls in self.ops]
        return f"{', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]} a step"


@once_per_record
def inventory(measured: RecordData, configuration: str) -> Inventory | None:
    """Torch's list for a configuration's steady steps; None if empty. Memoised."""
    rows = measured.once("inventory", _rows)
    of_configuration = rows.filter(pl.col("configuration") == configuration)
    if of_configuration.height == 0:
        return None
    listed = of_configuration.filter(pl.col("listed") > 0)
    steps = listed.group_by("launch", "step").agg(
        pl.col("listed", "seen").mean(),
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name) for name in ("bytes", "ns")),
    )
    launches = steps.group_by("launch").agg(pl.col("listed", "seen", "bytes", "ns").median()).sort("launch")
    sizes, times = launches["bytes"].to_list(), launches["ns"].to_list()
    fullest = launches.sort(pl.col("listed") - pl.col("seen"), nulls_last=False).row(-1, named=True)
    return Inventory(
        calls=float(fullest["listed"]),
        seen=None if fullest["seen"] is None else float(fullest["seen"]),
        ops=_operations(measured, listed),
        nbytes=None if None in sizes else tuple(sizes),
        seconds=None if None in times else tuple(ns / NS_PER_S for ns in times),
        steps=steps.height,
    )


def _rows(measured: RecordData) -> pl.DataFrame:
    """(configuration, launch, rank, step, listed, seen, bytes, ns) of the listed steady steps of timed launches."""
    table = measured.table("inventory").filter(~pl.col("op").is_in(_PAIRED))
    schema = {
        "configuration": pl.String,
        "launch": pl.Int32,
        "rank": pl.Int32,
        "step": pl.Int64,
        "listed": pl.Float64,
        "seen": pl.Float64,
        "bytes": pl.Float64,
        "ns": pl.Float64,
    }
    if table.height == 0:
        return pl.DataFrame(schema=schema)
    wanted = measured.steady_steps.select("launch", "step", "configuration")
    lives = measured.rows_of(table.select("launch").unique(), *_RANK_STEP, "incarnation")
    rows = table.join(lives, on=[*_RANK_STEP, "incarnation"], how="semi").join(wanted, on=["launch", "step"])
    rows = all_watched(rows, measured.table("communication"))
    per_step = rows.group_by("configuration", *_RANK_STEP).agg(
        pl.col("calls").sum().alias("listed"),
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name) for name in ("bytes", "total_ns")),
    )
    calls = measured.table("collectives").filter(pl.col("step").is_not_null() & ~pl.col("op").is_in([*_PAIRED]))
    calls = calls.filter(~pl.col("phase").is_in(APART))
    hooked = calls.select("launch", "rank").unique().with_columns(_hooked=pl.lit(value=True))
    hook_counts = calls.group_by(_RANK_STEP).agg(pl.len().alias("seen"))
    joined = per_step.join(hooked, on=["launch", "rank"], how="left").join(hook_counts, on=_RANK_STEP, how="left")
    filled = joined.with_columns(seen=pl.when("_hooked").then(pl.col("seen").fill_null(0)), ns=pl.col("total_ns"))
    return filled.select(pl.col(name).cast(kind) for name, kind in schema.items())


def _operations(measured: RecordData, listed: pl.DataFrame) -> tuple[tuple[str, float], ...]:
    table = measured.table("inventory").join(listed.select(_RANK_STEP), on=_RANK_STEP, how="semi")
    sums = (
        table.filter(~pl.col("op").is_in(_PAIRED)).group_by("op").agg(pl.col("calls").sum()).sort("calls", "op", descending=[True, False])
    )
    return tuple((op, calls / listed.height) for op, calls in sums.iter_rows())


def why_none(measured: RecordData, configuration: str) -> str:
    """Why torch's recorder lists nothing for a configuration's steps; empty: it was off, or the reason is unknown."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    events = measured.table("events").filter(pl.col("kind") == "flight_recorder").join(launches, on="launch", how="semi")
    return next((why for text in events["detail"] if (why := json.loads(text).get("absent"))), "")
