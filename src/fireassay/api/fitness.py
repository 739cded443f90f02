"""Is this machine fit to measure, and how accurate is its load client?  What `assay doctor` stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fireassay import __version__
from fireassay.clock import SystemClock
from fireassay.errors import RecordError
from fireassay.frames.per_launch import counted, per_launch
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.record.scratch import scratch
from fireassay.runners.calibration import machine
from fireassay.runners.calibration.machine import ClientCalibration, MachineExamination
from fireassay.runners.experiment.progress import RunProgress
from fireassay.stats.comparing.aa_test import MIN_LAUNCHES, alike
from fireassay.stats.series.trend import drift, memory
from fireassay.verdict.fitness import examine, examine_client, whole

Result = dict[str, Any]  # the content to store: numbers, and each check with its verdict


def machine_examined(
    seconds: float, on_progress: Callable[[RunProgress], None] | None = None, launches: int | None = None
) -> tuple[Result | None, str]:
    """Measure this machine, then judge: the result, None if too little was measured; and why it ended early, empty if it did not."""
    with scratch() as folder:
        seen = machine.examine(folder, seconds, launches=launches or machine.LAUNCHES, on_progress=on_progress)
        begins, values = _launch_values(seen.record)
    return (None if len(values) < MIN_LAUNCHES and seen.stopped else of_machine(seen, begins, values)), seen.stopped


def client_examined(seconds: float, announce: Callable[[str], None]) -> tuple[Result | None, str]:
    """Measure the load client, then judge: as `machine_examined`."""
    with scratch() as folder:
        seen = machine.calibrate(folder, seconds, announce)
    return (of_client(seen, machine.about()) if seen.errors else None), seen.stopped


def _launch_values(record: Path | None) -> tuple[list[float], list[float]]:
    """Begin (seconds) and median time of a call (seconds) of every launch that ended well, in order."""
    if record is None:
        return [], []
    try:
        measured = from_record(open_record(record))
    except RecordError:  # stopped before anything was written
        return [], []
    medians = per_launch(counted(measured), "seconds", "median")
    rows = measured.timed.join(medians, on="launch").sort("begin_ns")
    return [begin / 1e9 for begin in rows["begin_ns"].to_list()], rows["value"].to_list()


def of_machine(seen: MachineExamination, begins: Sequence[float], values: Sequence[float]) -> Result:
    """The result of an examination of the machine."""
    comparison, trend, resembles = alike(values), drift(begins, values), memory(values)
    checks = examine(comparison, trend, resembles, len(values), seen.clock, seen.context, seen.shares, seen.seconds)
    aa = (
        {}
        if comparison is None
        else {
            "noise_floor": comparison.noise_floor,
            "noise_floor_apart": comparison.noise_floor_apart,
            "minimum_detectable_effect_k5": comparison.minimum_detectable_effect,
            "spread": comparison.spread,
            "false_alarm_rate": asdict(comparison.false_alarms),
            "false_alarm_rate_apart": asdict(comparison.false_alarms_apart),
        }
    )
    return {
        **_made(),
        "fitness": whole(checks),
        "launches": len(values),
        "seconds": seen.seconds,
        **aa,
        # over the examined time: extrapolating to an hour would raise it to a power
        "drift_over_the_run": None if trend is None else {"value": trend.over_the_run, "p_value": trend.p_value},
        "autocorrelation": resembles,
        "clock": dict(seen.clock),
        "shares": dict(seen.shares),
        "context": dict(seen.context),
        "checks": [asdict(check) for check in checks],
        "launch_values_s": list(values),
    }


def of_client(seen: ClientCalibration, about: Mapping[str, str]) -> Result:
    """The result of a calibration of the client."""
    checks = examine_client(seen.errors, seen.ceiling, seen.timer_lag_ms, seen.provoked)
    busiest = seen.errors[-1] if seen.errors else {}
    return {
        **_made(),
        **about,
        "fitness": whole(checks),
        "errors": seen.errors,
        "provoked": seen.provoked,
        "ceiling": seen.ceiling,
        "timer_lag_ms": seen.timer_lag_ms,
        "loop_lag_ms": busiest.get("lag_ms"),  # delay of due requests in a busy process
        "seconds": seen.seconds,
        "checks": [asdict(check) for check in checks],
    }


def _made() -> Result:
    return {"utc": SystemClock().utc().isoformat(timespec="seconds"), "assay_version": __version__}
