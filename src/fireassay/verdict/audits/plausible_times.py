"""Can these times have been measured?  Order of events, and processor time within wall time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from fireassay.frames.clock_offsets import by_coordinators_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.evidence.impossible_rows import (
    FOREIGN,
    WORKER,
    backwards,
    beside_the_coordinator,
    blind,
    earlier,
    ended,
    impossible,
    in_launch,
    overlapped,
    overlapping,
    overlaps,
    processors,
)
from fireassay.verdict.types import Finding

AUDITS = Audits(about=EVERYTHING)


# ---- order of times ----

ORDER_OF_TIMES_SLACK_NS: Final = 1000
# Slack for the sum of phases timed by hooks; `missing_synchronisation` warns below it.
PHASES_SHARE, PHASES_NS = 0.05, 1_000_000
SAME_BOOT_S: Final = 60.0  # largest adjustment of the wall clock between two launches of one boot
ORDER_OF_TIMES_SPANS: Final = (
    ("launches", "begin_ns", "end_ns"),
    ("steps", "begin_ns", "end_ns"),
    ("trials", "begin_ns", "end_ns"),
    ("collectives", "begin_ns", "end_ns"),
    ("clocks", "sent_ns", "received_ns"),
    ("clocks", "heard_ns", "answered_ns"),
)
ORDER_OF_TIMES_PHASES: Final = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
DURATIONS: Final = {"steps": (*ORDER_OF_TIMES_PHASES, "checkpoint_ns"), "collectives": ("blocked_ns",), "events": ("duration_ns",)}
# Operations whose result depends on every rank's input.
WAIT_FOR_ALL: Final = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


@AUDITS.add("order_of_times", "Are a record's times possible?", title="impossible times", blind=blind)
def examine_order_of_times(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule.

    No interval ends before it begins; a rank runs one step at a time, a round one trial, a plan one launch; a step's exclusive phases fit
    into it (`recorder.phases`); a launch contains its rows; two tables agree on the first step; no rank has the result of a collective
    before the last rank enters it. One row that breaks a rule cannot have been measured: INVALID.

    Times are compared on one clock only: a worker's own, or the coordinator host's. Slack: 1 us, for clocks that step. Cannot tell: forgery
    that shifts all times together.
    """
    if measured.foreign is not None:
        return ()
    spans = [
        finding
        for table, begin, end in ORDER_OF_TIMES_SPANS
        for finding in backwards(f"{table}_run_backwards", table, _rows(measured, table), begin, end)
    ]
    lengths = [finding for table, columns in DURATIONS.items() for name in columns for finding in _negative(measured, table, name)]
    return (
        *spans,
        *lengths,
        *_phases(measured),
        *_series(measured),
        *_order_of_times_launches(measured),
        *_outside(measured),
        *_first_step(measured),
        *_too_early(measured),
    )


def _negative(measured: RecordData, table: str, column: str) -> tuple[Finding, ...]:
    rows = _rows(measured, table)
    bad = rows.filter(pl.col(column) < 0) if rows.height else rows
    return impossible(f"{column}_negative", table, bad, f"{column} is {{{column}}}, less than 0")


@once_per_record
def _impossible_steps(measured: RecordData) -> Mapping[str, pl.DataFrame]:
    """Of all steps, in one pass, those that may break a rule, each with the row before it where that matters."""
    columns = (*WORKER, "step", "begin_ns", "end_ns", *DURATIONS["steps"], "method")
    first_steps = _first_steps(measured)
    length, phases = pl.col("end_ns") - pl.col("begin_ns"), pl.sum_horizontal(pl.col(list(ORDER_OF_TIMES_PHASES)).fill_null(0))
    begin, same = pl.col("begin_ns"), pl.all_horizontal(*(pl.col(name) == pl.col(name).shift(1) for name in WORKER))
    odd = (begin <= begin.shift(1)) | (pl.col("step") <= pl.col("step").shift(1))
    odd |= begin < pl.col("end_ns").shift(1) - ORDER_OF_TIMES_SLACK_NS
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in ("negative", "phases", "overlapping", "back", "first")}
    for steps in measured.slices(*columns):
        found["negative"].append(steps.filter((length < 0) | pl.any_horizontal(pl.col(list(DURATIONS["steps"])) < 0)))
        timed = steps.filter((pl.col("method") == "monotonic") & (phases > length * (1 + PHASES_SHARE) + PHASES_NS))
        found["phases"].append(timed.with_columns(_length=length, _sum=phases))
        ordered = steps.select(*WORKER, "step", "begin_ns", "end_ns")
        ordered = ordered.sort([*WORKER, "begin_ns", "step"]) if ordered.select((same & odd).any()).item() else ordered.clear()
        before = ordered.with_columns(_before=earlier("step", WORKER))
        found["back"].append(before.filter(pl.col("step") <= pl.col("_before")))
        found["overlapping"].append(overlaps(ordered, WORKER, "begin_ns", "end_ns", ORDER_OF_TIMES_SLACK_NS))
        few = steps.filter(pl.col("step").is_in(first_steps["step"].unique().implode()))
        found["first"].append(few.join(first_steps, on=[*WORKER, "step"], how="semi"))
    return {name: pl.concat(frames) for name, frames in found.items()}


def _rows(measured: RecordData, table: str) -> pl.DataFrame:
    """A table; of the steps those with a negative duration."""
    return _impossible_steps(measured)["negative"] if table == "steps" else measured.table(table)


def _phases(measured: RecordData) -> tuple[Finding, ...]:
    """Phases timed by the step's own clock; device events use another."""
    bad = _impossible_steps(measured)["phases"]
    return impossible("phases_exceed_step", "steps", bad, "its phases take {_sum} ns together, the step {_length} ns")


def _series(measured: RecordData) -> tuple[Finding, ...]:
    """One step of a rank and one trial of a round at a time; step numbers increase."""
    bad = _impossible_steps(measured)
    trials = measured.table("trials").sort("launch", "begin_ns", "end_ns")
    return (
        *overlapped("steps_overlap", "steps", bad["overlapping"], "begin_ns", "end_ns"),
        *impossible("steps_count_back", "steps", bad["back"], "step {step} begins after step {_before} of the same worker"),
        *overlapping("trials_overlap", "trials", trials, ["launch"], "begin_ns", "end_ns", ORDER_OF_TIMES_SLACK_NS),
    )


def _order_of_times_launches(measured: RecordData) -> tuple[Finding, ...]:
    """One launch at a time within a boot; after a reboot the clock restarts."""
    wall = pl.col("begin_utc").str.to_datetime(time_unit="ns", time_zone="UTC", strict=False).dt.epoch("ns")
    launches = ended(measured).with_columns(_ahead=wall - pl.col("begin_ns")).sort("begin_ns", "end_ns")
    before = launches.with_columns(
        _before=pl.col("end_ns").shift(1), _earlier=pl.col("launch").shift(1), _drift=pl.col("_ahead").diff().abs()
    )
    bad = before.filter((pl.col("begin_ns") < pl.col("_before") - ORDER_OF_TIMES_SLACK_NS) & (pl.col("_drift") < SAME_BOOT_S * NS_PER_S))
    begun = measured.table("events").filter(pl.col("kind") == "launch_begin").group_by("launch").agg(_begun=pl.col("ns").min())
    early = measured.table("launches").join(begun, on="launch").filter(pl.col("begin_ns") < pl.col("_begun"))
    return (
        *impossible("launches_overlap", "launches", bad, "begin_ns {begin_ns} is before {_before}, the end of launch {_earlier}"),
        *impossible("launch_begins_early", "launches", early, "begin_ns {begin_ns} is before {_begun}, its begin in the table events"),
    )


def _outside(measured: RecordData) -> tuple[Finding, ...]:
    launches, near = ended(measured), beside_the_coordinator(measured)
    calls = measured.table("collectives").join(near, on=WORKER, how="semi")
    spans = launches.select("launch", _from=pl.col("begin_ns"), _to=pl.col("end_ns"))
    outside = (pl.col("begin_ns") < pl.col("_from")) | (pl.col("end_ns") > pl.col("_to"))
    beyond = measured.stepped.join(spans, on="launch").filter(outside).join(near, on=WORKER, how="semi").select(WORKER)
    slices = measured.slices(*WORKER, "step", "begin_ns", "end_ns", launches=beyond["launch"].to_list(), ranks=beyond["rank"].to_list())
    steps = pl.concat(some.join(beyond, on=WORKER, how="semi") for some in slices)
    return (
        *in_launch("steps_outside_launch", "steps", steps, launches, "begin_ns", "end_ns", ORDER_OF_TIMES_SLACK_NS),
        *in_launch("trials_outside_launch", "trials", measured.table("trials"), launches, "begin_ns", "end_ns", ORDER_OF_TIMES_SLACK_NS),
        *in_launch(
            "collectives_outside_launch",
            "collectives",
            calls.filter(pl.col("method") == "host"),
            launches,
            "begin_ns",
            "end_ns",
            ORDER_OF_TIMES_SLACK_NS,
        ),
    )


def _first_steps(measured: RecordData) -> pl.DataFrame:
    """(launch, rank, incarnation, step, _ns, _reported): begin and duration of first steps in the table events."""
    reported = measured.table("events").filter((pl.col("kind") == "first_step") & pl.col("step").is_not_null())
    return reported.select(*WORKER, "step", _ns="ns", _reported="duration_ns")


def _first_step(measured: RecordData) -> tuple[Finding, ...]:
    """A worker's first-step event agrees with the step's own row."""
    first_steps = _first_steps(measured)
    if not first_steps.height:
        return ()
    both = (
        _impossible_steps(measured)["first"]
        .join(first_steps, on=[*WORKER, "step"])
        .with_columns(_length=pl.col("end_ns") - pl.col("begin_ns"))
    )
    bad = both.filter((pl.col("_ns") != pl.col("begin_ns")) | (pl.col("_reported") != pl.col("_length")))
    return impossible(
        "first_step_differs",
        "steps",
        bad,
        "it begins at {begin_ns} and takes {_length} ns; by the table events it begins at {_ns} and takes {_reported} ns",
    )


def _too_early(measured: RecordData) -> tuple[Finding, ...]:
    """A collective that ended on one rank before another entered it."""
    calls = measured.table("collectives").filter(
        pl.col("op").is_in(WAIT_FOR_ALL) & (pl.col("method") == "host") & pl.col("end_ns").is_not_null() & (pl.col("size") > 1)
    )
    if not calls.height:
        return ()
    near = beside_the_coordinator(measured)
    keys = ["launch", "incarnation", "group", "call", "op", "bytes"]
    last = (
        calls.join(near, on=WORKER, how="semi")
        .group_by([*keys, "size"])
        .agg(pl.len().alias("_ranks"), pl.col("begin_ns").max().alias("_entered"), pl.col("rank").sort_by("begin_ns").last().alias("_last"))
        .filter(pl.col("_ranks") == pl.col("size"))
    )
    bad = calls.join(last, on=[*keys, "size"]).filter(pl.col("end_ns") < pl.col("_entered") - ORDER_OF_TIMES_SLACK_NS)
    return impossible("collective_before_entry", "collectives", bad, "{op} ended at {end_ns}, before rank {_last} entered it at {_entered}")


# ---- processor time ----

PROCESSOR_TIME_SHARE: Final = 0.01
TICK_NS: Final = 10_000_000
FINE_NS: Final = 50_000
COARSE_NS: Final = 1_000_000  # values that are all multiples of it come from a tick counter


@AUDITS.add("processor_time", "Was more processor time used than the machine has?", title="impossible processor time")
def examine_processor_time(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding for commands, one for functions, one for launches.

        user + system  <=  wall time x logical processors

    holds for a command's run (wait4(2) includes terminated children), for all calls of a function in a launch, and for a launch's processes
    since its begin. Slack: 1 % for two clocks, and one tick (10 ms) per processor if the kernel counts in ticks; 50 us for a command whose
    times are finer than a millisecond. A violation cannot have been measured: INVALID. Cannot tell: a forged time within the machine's
    capacity.
    """
    count = processors(measured)
    if count is None or measured.foreign is not None:
        return ()
    return (*_commands(measured, count), *_functions(measured, count), *_processor_time_launches(measured, count))


def _trials(measured: RecordData) -> pl.DataFrame:
    used = pl.col("user_ns") + pl.col("system_ns")
    return measured.table("trials").with_columns(_used=used, _wall=pl.col("end_ns") - pl.col("begin_ns")).drop_nulls("_used")


def _commands(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """A command's run contains all of its processes."""
    runs = _trials(measured).filter(pl.col("exit_code").is_not_null())
    slack = _slack(runs, count)
    bad = runs.filter(pl.col("_used") > count * pl.col("_wall") * (1 + PROCESSOR_TIME_SHARE) + slack)
    return impossible("processor_time", "trials", bad, f"{{_used}} ns of processor time in {{_wall}} ns on {count} processors")


def _slack(runs: pl.DataFrame, count: int) -> int:
    """One tick per processor if the kernel counts in ticks; else nearly zero."""
    fine = runs.filter((pl.col("user_ns") % COARSE_NS != 0) | (pl.col("system_ns") % COARSE_NS != 0))
    return FINE_NS if fine.height else count * TICK_NS


def _functions(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """All calls of a launch together: other threads' time appears a tick late, in the next trial."""
    calls = (
        _trials(measured)
        .filter(pl.col("exit_code").is_null())
        .group_by("launch")
        .agg(pl.col("_used").sum(), (pl.col("end_ns").max() - pl.col("begin_ns").min()).alias("_wall"), pl.len().alias("_rows"))
    )
    bad = calls.filter(pl.col("_used") > count * pl.col("_wall") * (1 + PROCESSOR_TIME_SHARE) + count * TICK_NS)
    return impossible(
        "processor_time", "trials", bad, f"its {{_rows}} trials used {{_used}} ns of processor time in {{_wall}} ns on {count} processors"
    )


def _processor_time_launches(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """Processes of a launch at each counter reading."""
    if not measured.kind.own_processes:
        return ()
    begins = measured.table("launches").select("launch", "begin_ns")
    read = measured.table("telemetry").filter((pl.col("device") == "launch") & (pl.col("counter") == "cpu_time"))
    known = (
        by_coordinators_clock(measured, read).join(begins, on="launch").with_columns(_wall=(pl.col("ns") - pl.col("begin_ns")) / NS_PER_S)
    )
    bad = known.filter(pl.col("value") > count * (pl.col("_wall") * (1 + PROCESSOR_TIME_SHARE) + 2 * TICK_NS / NS_PER_S))
    return impossible(
        "processor_time",
        "telemetry",
        bad,
        f"the launch had used {{value:.6g}} s of processor time {{_wall:.6g}} s after its begin on {count} processors",
    )


@AUDITS.blind("processor_time")
def blind_processor_time(measured: RecordData, _: Results) -> str | None:
    """Blind without the processor count or any processor times."""
    if measured.foreign is not None:
        return FOREIGN
    if processors(measured) is None:
        return "the record does not say how many processors the machine has"
    counted = measured.table("telemetry").filter(pl.col("counter") == "cpu_time").height + _trials(measured).height
    return None if counted else "no processor time was counted"
