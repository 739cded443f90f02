"""How long does a call take, in wall and processor time, and how much memory?

A call is a start of a command or a call of a function. A launch's value aggregates its counted trials, without warm-up
(`fireassay.frames.per_launch`); the interval is Student t on the logs of the launch values. Processor time and memory of a command are those
of wait4(2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import reading
from fireassay.frames.per_launch import counted, from_frame, per_launch, refused
from fireassay.frames.record_data import RecordData
from fireassay.frames.waiting import device_times
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, SECONDS

NEAR_FLOOR: Final = 1.02  # memory within 2 % of the starter's cannot be told from it
measure = partial(Metric, better="lower", dimension="performance")


def _per_call(measured: RecordData, _: Results, *, name: str, unit: str, column: str, fold: str, missing: str) -> Mapping[str, Value]:
    if (refusal := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, refusal)
    return from_frame(
        measured,
        per_launch(counted(measured), column, fold),
        unit=unit,
        name=name,
        trials="trials",
        missing=missing,
        aggregate=f"{fold} of the counted trials",
    )


def _time(measured: RecordData, results: Results) -> Mapping[str, Value]:
    missing = "no counted trial has ended"
    values = _per_call(measured, results, name="trial_time", unit=SECONDS, column="seconds", fold="median", missing=missing)
    return {name: _unless_nothing(value) for name, value in values.items()}


def _unless_nothing(value: Value) -> Value:
    """No call takes no time: the clock was too coarse, or more was subtracted than there was."""
    nothing = isinstance(value, Estimate) and value.value == 0.0
    return Absent("not_measured", "the trials took 0 s, which no call does") if nothing else value


TRIAL_TIME = measure(
    name="trial_time",
    title="Time of a call",
    unit=SECONDS,
    kind="cost",
    formula="median over trials of (end - begin) / calls",
    compute=_time,
    question="How long does one call take: a start of a command, or a call of a function?",
    caveat="A command's time includes starting its process; `assay time` also shows an empty command.",
    rank=1610,
    decides=3,
)
TRIAL_CPU_TIME = measure(
    name="trial_cpu_time",
    title="Processor time of a call",
    unit=SECONDS,
    kind="cost",
    formula="mean over trials of (user + system) / calls",
    compute=partial(
        _per_call,
        name="trial_cpu_time",
        unit=SECONDS,
        column="cpu_s",
        fold="mean",  # kernels that count in ticks give 0 for short calls
        missing="the system did not report the processor time of the calls",
    ),
    question="How much processor time does one call use, in user mode and kernel?",
    caveat="Includes children that the command waited for, not daemons that it left behind.",
    rank=1611,
)


def _memory(measured: RecordData, results: Results) -> Mapping[str, Value]:
    missing = "the system did not report the memory of the calls"
    values = _per_call(measured, results, name="trial_memory", unit=BYTES, column="max_rss_bytes", fold="median", missing=missing)
    floor = starter_bytes(measured)
    return {name: _unless_below(value, floor) for name, value in values.items()}


def starter_bytes(measured: RecordData) -> float | None:
    """The memory of assay's starter, as shown by an empty command. None for functions, which are not spawned."""
    rows = measured.table("telemetry").filter((pl.col("device") == "spawn") & (pl.col("counter") == "start_rss"))
    middle = rows["value"].median()
    return float(middle) if isinstance(middle, int | float) else None


def _unless_below(value: Value, floor: float | None) -> Value:
    """Linux includes the memory of the spawning process in a command's: exec keeps the high-water mark."""
    if floor is None or not isinstance(value, Estimate) or value.value > NEAR_FLOOR * floor:
        return value
    return Absent("not_measured", f"at most {reading(floor, BYTES)}, the memory of assay's starter itself")


TRIAL_MEMORY = measure(
    name="trial_memory",
    title="Memory of a call",
    unit=BYTES,
    kind="level",
    formula="median over trials of the largest resident set",
    compute=_memory,
    question="What is the peak memory of one call?",
    caveat="A command smaller than the starter that spawned it has a bound only; memory shared with others counts too.",
    rank=1612,
)


def _device_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if (refusal := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, refusal)
    values = device_times(measured)
    if measured.foreign is not None:
        return dict.fromkeys(measured.configurations, Absent("not_measured", "the imported file holds no device events"))
    if not values.height:
        return dict.fromkeys(measured.configurations, Absent("not_applicable", "no device was in use in the timed process"))
    return from_frame(
        measured,
        values,
        unit=SECONDS,
        name="trial_device_time",
        trials="trials",
        missing="no launch has device events",
        aggregate="median of the counted trials",
    )


TRIAL_DEVICE_TIME = measure(
    name="trial_device_time",
    title="Device time of a call",
    unit=SECONDS,
    kind="cost",
    formula="median over trials of (end event - begin event) / calls, on the current stream; of several devices the longest",
    compute=_device_time,
    question="How long does the device work on one call, by its own clock?",
    caveat="Work on streams that the current one does not join is in the time of the call, and not in this.",
    rank=1613,
)

METRICS = (TRIAL_TIME, TRIAL_CPU_TIME, TRIAL_MEMORY, TRIAL_DEVICE_TIME)


def of_calls(results: Results) -> Results:
    """The results that apply to calls; for a record of calls the others are empty. Without a device there is no time of it."""
    own = {metric.name: results[metric.name] for metric in METRICS if metric.name in results}
    of_device = own.get(TRIAL_DEVICE_TIME.name, {}).values()
    if all(isinstance(value, Absent) and value.reason == "not_applicable" for value in of_device):
        own.pop(TRIAL_DEVICE_TIME.name, None)
    return own
