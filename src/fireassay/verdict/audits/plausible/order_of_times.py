"""Are a record's times possible?

No interval ends before it begins; a rank runs one step at a time, a round one trial, a plan one launch; a step's exclusive phases fit into
it (`recorder.phases`); a launch contains its rows; two tables agree on the first step; no rank has the result of a collective before the
last rank enters it. One row that breaks a rule cannot have been measured: INVALID.

Times are compared on one clock only: a worker's own, or the coordinator host's. Slack: 1 us, for clocks that step. Cannot tell: forgery
that shifts all times together.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import (
    WORKER,
    backwards,
    beside_the_coordinator,
    blind,
    earlier,
    ended,
    impossible,
    in_launch,
    overlapping,
)
from fireassay.verdict.types import Finding

SLACK_NS: Final = 1000
# Slack for the sum of phases timed by hooks; `missing_synchronisation` warns below it.
PHASES_SHARE, PHASES_NS = 0.05, 1_000_000
SAME_BOOT_S: Final = 60.0  # largest adjustment of the wall clock between two launches of one boot
SPANS: Final = (
    ("launches", "begin_ns", "end_ns"),
    ("steps", "begin_ns", "end_ns"),
    ("trials", "begin_ns", "end_ns"),
    ("collectives", "begin_ns", "end_ns"),
    ("clocks", "sent_ns", "received_ns"),
    ("clocks", "heard_ns", "answered_ns"),
)
PHASES: Final = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
DURATIONS: Final = {"steps": (*PHASES, "checkpoint_ns"), "collectives": ("blocked_ns",), "events": ("duration_ns",)}
# Operations whose result depends on every rank's input.
WAIT_FOR_ALL: Final = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule."""
    if measured.foreign is not None:
        return ()
    spans = [
        finding for table, begin, end in SPANS for finding in backwards(f"{table}_run_backwards", table, measured.table(table), begin, end)
    ]
    lengths = [finding for table, columns in DURATIONS.items() for name in columns for finding in _negative(measured, table, name)]
    return (
        *spans,
        *lengths,
        *_phases(measured),
        *_series(measured),
        *_launches(measured),
        *_outside(measured),
        *_first_step(measured),
        *_too_early(measured),
    )


def _negative(measured: RecordData, table: str, column: str) -> tuple[Finding, ...]:
    bad = measured.table(table).filter(pl.col(column) < 0)
    return impossible(f"{column}_negative", table, bad, f"{column} is {{{column}}}, less than 0")


def _phases(measured: RecordData) -> tuple[Finding, ...]:
    """Phases timed by the step's own clock; device events use another."""
    steps = measured.table("steps").filter(pl.col("method") == "monotonic")
    summed = steps.with_columns(
        _length=pl.col("end_ns") - pl.col("begin_ns"), _sum=pl.sum_horizontal(*(pl.col(name).fill_null(0) for name in PHASES))
    )
    bad = summed.filter(pl.col("_sum") > pl.col("_length") * (1 + PHASES_SHARE) + PHASES_NS)
    return impossible("phases_exceed_step", "steps", bad, "its phases take {_sum} ns together, the step {_length} ns")


def _series(measured: RecordData) -> tuple[Finding, ...]:
    """One step of a rank and one trial of a round at a time; step numbers increase."""
    steps = measured.table("steps").select(*WORKER, "step", "begin_ns", "end_ns").sort([*WORKER, "begin_ns", "step"])
    counted = steps.with_columns(_before=earlier("step", WORKER)).filter(pl.col("step") <= pl.col("_before"))
    trials = measured.table("trials").sort("launch", "begin_ns", "end_ns")
    return (
        *overlapping("steps_overlap", "steps", steps, WORKER, "begin_ns", "end_ns", SLACK_NS),
        *impossible("steps_count_back", "steps", counted, "step {step} begins after step {_before} of the same worker"),
        *overlapping("trials_overlap", "trials", trials, ["launch"], "begin_ns", "end_ns", SLACK_NS),
    )


def _launches(measured: RecordData) -> tuple[Finding, ...]:
    """One launch at a time within a boot; after a reboot the clock restarts."""
    wall = pl.col("begin_utc").str.to_datetime(time_unit="ns", time_zone="UTC", strict=False).dt.epoch("ns")
    launches = ended(measured).with_columns(_ahead=wall - pl.col("begin_ns")).sort("begin_ns", "end_ns")
    before = launches.with_columns(
        _before=pl.col("end_ns").shift(1), _earlier=pl.col("launch").shift(1), _drift=pl.col("_ahead").diff().abs()
    )
    bad = before.filter((pl.col("begin_ns") < pl.col("_before") - SLACK_NS) & (pl.col("_drift") < SAME_BOOT_S * NS_PER_S))
    begun = measured.table("events").filter(pl.col("kind") == "launch_begin").group_by("launch").agg(_begun=pl.col("ns").min())
    early = measured.table("launches").join(begun, on="launch").filter(pl.col("begin_ns") < pl.col("_begun"))
    return (
        *impossible("launches_overlap", "launches", bad, "begin_ns {begin_ns} is before {_before}, the end of launch {_earlier}"),
        *impossible("launch_begins_early", "launches", early, "begin_ns {begin_ns} is before {_begun}, its begin in the table events"),
    )


def _outside(measured: RecordData) -> tuple[Finding, ...]:
    launches, near = ended(measured), beside_the_coordinator(measured)
    steps, calls = (measured.table(name).join(near, on=WORKER, how="semi") for name in ("steps", "collectives"))
    return (
        *in_launch("steps_outside_launch", "steps", steps, launches, "begin_ns", "end_ns", SLACK_NS),
        *in_launch("trials_outside_launch", "trials", measured.table("trials"), launches, "begin_ns", "end_ns", SLACK_NS),
        *in_launch(
            "collectives_outside_launch", "collectives", calls.filter(pl.col("method") == "host"), launches, "begin_ns", "end_ns", SLACK_NS
        ),
    )


def _first_step(measured: RecordData) -> tuple[Finding, ...]:
    """A worker's first-step event agrees with the step's own row."""
    first_steps = measured.table("events").filter((pl.col("kind") == "first_step") & pl.col("step").is_not_null())
    first_steps = first_steps.select(*WORKER, "step", _ns="ns", _reported="duration_ns")
    both = measured.table("steps").join(first_steps, on=[*WORKER, "step"]).with_columns(_length=pl.col("end_ns") - pl.col("begin_ns"))
    bad = both.filter((pl.col("_ns") != pl.col("begin_ns")) | (pl.col("_reported") != pl.col("_length")))
    return impossible(
        "first_step_differs",
        "steps",
        bad,
        "it begins at {begin_ns} and takes {_length} ns; by the table events it begins at {_ns} and takes {_reported} ns",
    )


def _too_early(measured: RecordData) -> tuple[Finding, ...]:
    """A collective that ended on one rank before another entered it."""
    near = beside_the_coordinator(measured)
    calls = measured.table("collectives").filter(
        pl.col("op").is_in(WAIT_FOR_ALL) & (pl.col("method") == "host") & pl.col("end_ns").is_not_null() & (pl.col("size") > 1)
    )
    keys = ["launch", "incarnation", "group", "call", "op", "bytes"]
    last = (
        calls.join(near, on=WORKER, how="semi")
        .group_by([*keys, "size"])
        .agg(pl.len().alias("_ranks"), pl.col("begin_ns").max().alias("_entered"), pl.col("rank").sort_by("begin_ns").last().alias("_last"))
        .filter(pl.col("_ranks") == pl.col("size"))
    )
    bad = calls.join(last, on=[*keys, "size"]).filter(pl.col("end_ns") < pl.col("_entered") - SLACK_NS)
    return impossible("collective_before_entry", "collectives", bad, "{op} ended at {end_ns}, before rank {_last} entered it at {_entered}")


AUDIT = Audit(
    name="order_of_times",
    title="impossible times",
    question="Are a record's times possible?",
    examine=examine,
    about=EVERYTHING,
    blind=blind,
)
