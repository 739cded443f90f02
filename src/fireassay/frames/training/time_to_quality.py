"""When did each launch reach the target, or how far did it come without reaching it?

A launch reaches the target at the first evaluation whose score meets it, also if it crashed later; `held_s` is that of the first such
evaluation after which the next one meets it too. A launch that ended without is right-censored at its own end, the last step or evaluation
(without any the end of its process): time, samples, dollars and joules until then. So are those that crashed, timed out or were ended
after a number of steps; `cut` says which. A launch that was interrupted or contaminated and made again is not a launch of its own; fault
launches are left out, since the fault is part of their time.

Dollars: the price of all workers x time since the launch began, start-up included; storage, egress and the like belong to a whole run.
Joules: the counters of the launch at that time, between two readings in proportion to time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.costs import energy_readings, usd_per_second
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended, once_per_record
from fireassay.frames.training.evaluated_scores import evaluated_scores, training_starts
from fireassay.spec.sections.target import Goal
from fireassay.units import NS_PER_S

ENDED: Final = ("ok", "failed", "timeout")  # a launch that was made to its end, whatever that was
COLUMNS: Final = {
    "launch": pl.Int32,
    "configuration": pl.String,
    "block": pl.Int32,
    "workers": pl.Int32,
    "cut": pl.String,  # why it ended early; empty: it ran to completion
    "evaluations": pl.Int64,
    "nans": pl.Int64,
    "best": pl.Float64,  # its best score; null: none
    "reached": pl.Boolean,
    "time_s": pl.Float64,  # since the training began; until its end if not reached
    "wall_s": pl.Float64,  # since the launch began
    "held": pl.Boolean,
    "held_s": pl.Float64,
    "samples": pl.Float64,
    "usd": pl.Float64,
    "joules": pl.Float64,
}


@once_per_record
def launches_to_quality(measured: RecordData) -> pl.DataFrame:
    """A row per timed launch (see `COLUMNS`), in order; none without a target."""
    target = measured.experiment.target
    if target is None:
        return pl.DataFrame(schema=COLUMNS)
    goal = target.parsed
    launches = measured.table("launches").filter((pl.col("role") == "timed") & pl.col("status").is_in(ENDED)).sort("launch")
    scores = evaluated_scores(measured).filter(pl.col("name") == goal.name).partition_by("launch", as_dict=True)
    ends = _ends(measured)
    rows = []
    for launch in launches.iter_rows(named=True):
        own = scores.get((launch["launch"],))
        rows.append(_row(measured, launch, ends[launch["launch"]], goal, own.to_dicts() if own is not None else []))
    return pl.DataFrame(rows, schema=COLUMNS)


def crossing(scores: list[dict[str, Any]], goal: Goal, *, held: bool) -> dict[str, Any] | None:
    """The first evaluation that meets the goal; `held`: whose next one meets it too."""
    meets = [goal.met(row["score"]) for row in scores]
    if held:
        meets = [now and after for now, after in zip(meets, [*meets[1:], False], strict=False)]
    return next((row for row, met in zip(scores, meets, strict=True) if met), None)


def _row(measured: RecordData, launch: dict[str, Any], end: dict[str, Any], goal: Goal, scores: list[dict[str, Any]]) -> dict[str, Any]:
    first, held = (crossing(scores, goal, held=held) for held in (False, True))
    values = [row["score"] for row in scores if np.isfinite(row["score"])]
    last = scores[-1] if scores else end  # an importer has no steps, and a script may evaluate after its last
    unreached = last if last["since_s"] >= end["since_s"] or end["samples"] is None else end
    at = first or unreached
    rate = (usd_per_second(measured) or {}).get(launch["configuration"])
    return {
        **{name: launch[name] for name in ("launch", "configuration", "block", "workers")},
        "cut": _cut(measured, launch),
        "evaluations": len(scores),
        "nans": len(scores) - len(values),
        "best": (max(values) if goal.higher else min(values)) if values else None,
        "reached": first is not None,
        "time_s": at["since_s"],
        "wall_s": at["wall_s"],
        "held": held is not None,
        "held_s": (held or unreached)["since_s"],
        "samples": at["samples"],
        "usd": None if rate is None or at["wall_s"] is None else rate * at["wall_s"],
        "joules": _joules(measured, launch["launch"], at["wall_s"]),
    }


def _cut(measured: RecordData, launch: dict[str, Any]) -> str:
    """Why a launch ended before its script did."""
    if launch["status"] != "ok":
        return "timed out" if launch["status"] == "timeout" else "crashed"
    return "ended after its steps" if launch["launch"] in ended(measured) else ""


def _ends(measured: RecordData) -> dict[int, dict[str, Any]]:
    """launch -> how long it was from the training's begin and its own to its last step, or its end without any, and its items."""
    clock = on_one_clock(measured)
    launches = clock.measured.table("launches").select("launch", "begin_ns", "end_ns").join(training_starts(clock.measured), on="launch")
    last = clock.measured.stepped.group_by("launch").agg(pl.col("end_ns").max().alias("last_ns"))
    known = pl.when(pl.col("items").null_count() == 0).then(pl.col("items").sum())
    items = measured.global_steps.group_by("launch").agg(known.alias("samples"))
    rows = launches.join(last, on="launch", how="left").join(items, on="launch", how="left")
    ends = rows.with_columns(pl.coalesce("last_ns", "end_ns").alias("until")).select(
        "launch",
        ((pl.col("until") - pl.col("start_ns")) / NS_PER_S).alias("since_s"),
        ((pl.col("until") - pl.col("begin_ns")) / NS_PER_S).alias("wall_s"),
        "samples",
    )
    return {row["launch"]: row for row in ends.to_dicts()}


def _joules(measured: RecordData, launch: int, wall_s: float | None) -> float | None:
    """The launch's joules until so long after its begin; None without readings."""
    if wall_s is None:
        return None
    readings = energy_readings(on_one_clock(measured).measured).filter(pl.col("launch") == launch).sort("ns")
    if readings.height == 0:
        return None
    begin = measured.table("launches").filter(pl.col("launch") == launch)["begin_ns"][0]
    devices = readings.partition_by("host", "device")
    return float(sum(np.interp(wall_s, (device["ns"].to_numpy() - begin) / NS_PER_S, device["value"].to_numpy()) for device in devices))
