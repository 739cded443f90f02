"""How well does this machine measure?  Clock, sleep, environment, and many launches of the same fixed work.

The launches go through the installed harness itself: the runner `function`, its supervisor and its record, with the fixed work
of `instruments/machine/fixed_work.py`.  Nothing is judged here, and nothing on the machine is changed.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Interrupted, WorkloadError
from fireassay.record.environment import capture_keys
from fireassay.record.machine import Machine, Unread, absent, cpu_ticks, pressure, throttled
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping

LAUNCHES: Final = 60
OVERHEAD_S: Final = 0.4  # of a launch, besides its counted calls: an estimate that only sets the length of a round
RESERVE: Final = 0.1  # share of the time: for the launch in progress when time is up
RESERVE_S: Final = 2.5  # in addition: program start, clock checks, judging; at most half of the time
CLOCK_READS: Final = 100_000
SLEEPS: Final = 50
SLEEP_S: Final = 0.001
TARGET: Final = "fireassay.instruments.machine.fixed_work:spin"
# fmt: off
CONTEXT_KEYS: Final = (
    "host.virtualisation", "host.container", "host.aslr", "cpu.model", "cpu.logical", "cpu.usable", "cpu.smt", "cpu.governors",
    "memory.available_bytes", "memory.swap_total_bytes", "memory.swap_free_bytes", "cgroup.cpu_quota", "noise.load",
)
# fmt: on
TURBO: Final = (  # file, its content if turbo is on
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
    ("/sys/devices/system/cpu/cpufreq/boost", "1"),
)


@dataclass(frozen=True, kw_only=True)
class MachineExamination:
    """The results; unavailable readings are `{"absent": reason}`."""

    record: Path | None  # of the launches; None if there was none
    clock: Mapping[str, Any]
    context: Mapping[str, Any]
    shares: Mapping[str, Any]  # of the total time: steal, pressure, throttling, other programs; 0..1
    seconds: float
    stopped: str  # why it ended early; empty if it did not


def experiment(seconds: float, launches: int) -> Experiment:
    seconds -= min(RESERVE * seconds + RESERVE_S, seconds / 2.0)
    round_s = max(0.02, seconds / launches - OVERHEAD_S)
    return from_mapping(
        {
            "name": "doctor",
            "workload": {"runner": "function", "script": TARGET, "work": "calls"},
            "factor": {"levels": [1]},
            "gates": {"efficiency": "none"},
            "energy": {"source": "none"},
            "launches": {"per_configuration": launches},
            "timing": {"round_s": min(round_s, 3600.0)},
            "limits": {"experiment_timeout_s": seconds, "launch_timeout_s": max(10.0, 20.0 * round_s), "grace_s": 1.0},
        }
    )


def examine(
    scratch: Path,
    seconds: float,
    *,
    launches: int = LAUNCHES,
    machine: Machine | None = None,
    on_progress: Callable[[RunProgress], None] | None = None,
) -> MachineExamination:
    """Measure for about `seconds`; the record of the launches is created below `scratch`.

    Ctrl-C ends it early with partial results.
    """
    machine = machine or Machine()
    began, before = time.monotonic(), counters(machine)
    wall = clock_pair()
    clock = {**clock_cost(), **sleep_overshoot()}
    record, stopped = _launches(scratch, seconds, launches, on_progress)
    elapsed = time.monotonic() - began
    return MachineExamination(
        record=record,
        clock={**clock, **clock_drift(wall, clock_pair())},
        context=context(machine),
        shares=shares(before, counters(machine), elapsed),
        seconds=elapsed,
        stopped=stopped,
    )


def _launches(scratch: Path, seconds: float, launches: int, on_progress: Callable[[RunProgress], None] | None) -> tuple[Path | None, str]:
    stopped = ""
    try:
        return run(experiment(seconds, launches), folder=scratch, root=scratch, on_progress=on_progress), stopped
    except Interrupted as stop:
        stopped = str(stop).partition(";")[0]
    except WorkloadError as error:
        stopped = str(error).partition("\n")[0]
    return next(iter(sorted(scratch.glob("doctor-*"))), None), stopped


# ---- clocks ----------------------------------------------------------------------------------------------------------


def clock_cost(now: Callable[[], int] = time.monotonic_ns, reads: int = CLOCK_READS) -> dict[str, float]:
    """Seconds per reading of the monotonic clock, and its smallest step."""
    begin = now()
    for _ in range(reads):
        now()
    cost = (now() - begin) / reads
    steps = []
    last = now()
    for _ in range(reads):
        if (current := now()) > last:
            steps.append(current - last)
        last = current
    return {"read_s": cost / 1e9, "step_s": min(steps, default=0) / 1e9}


def sleep_overshoot(sleep: Callable[[float], None] = time.sleep, sleeps: int = SLEEPS) -> dict[str, float]:
    """By how many seconds a one-millisecond sleep overshoots: median and maximum."""
    late = []
    for _ in range(sleeps):
        begin = time.monotonic_ns()
        sleep(SLEEP_S)
        late.append((time.monotonic_ns() - begin) / 1e9 - SLEEP_S)
    return {"sleep_overshoot_s": statistics.median(late), "sleep_overshoot_worst_s": max(late)}


def clock_pair() -> tuple[int, int]:
    """(monotonic, wall) nanoseconds, read as close together as possible: the tightest of ten pairs."""
    pairs = []
    for _ in range(10):
        first, wall, second = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        pairs.append((second - first, (first + second) // 2, wall))
    _, middle, wall = min(pairs)
    return middle, wall


def clock_drift(first: tuple[int, int], last: tuple[int, int]) -> dict[str, float]:
    """Drift of the wall clock against the monotonic one between two pairs: parts per million, and seconds."""
    elapsed, moved = last[0] - first[0], (last[1] - first[1]) - (last[0] - first[0])
    return {"wall_drift_ppm": 1e6 * moved / elapsed if elapsed > 0 else 0.0, "wall_drift_s": moved / 1e9}


# ---- environment -------------------------------------------------------------------------------------------------------


def context(machine: Machine) -> dict[str, Any]:
    return {**capture_keys(CONTEXT_KEYS, machine), "cpu.turbo": _turbo(machine)}


def _turbo(machine: Machine) -> Any:
    for path, on in TURBO:
        try:
            return "on" if machine.text(path) == on else "off"
        except Unread:
            continue
    return absent("the kernel does not show turbo here")


def counters(machine: Machine) -> dict[str, Any]:
    """Totals since boot, and the processor time of this process and its ended children, seconds."""
    own_cpu_s = sum(part for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for part in resource.getrusage(whose)[:2])
    return {
        "ticks": _or_none(lambda: cpu_ticks(machine)),
        "own_s": own_cpu_s,
        **{f"pressure_{name}": _or_none(lambda name=name: pressure(machine, name)["some_us"]) for name in ("cpu", "memory", "io")},  # type: ignore[misc]
        "throttled_ns": _or_none(lambda: throttled(machine)["throttled_ns"]),
    }


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (Unread, OSError, KeyError, ValueError):
        return None


def shares(before: Mapping[str, Any], after: Mapping[str, Any], elapsed_s: float) -> dict[str, Any]:
    """Differences of two counter readings as shares of the elapsed time (0..1); None if unavailable."""
    values: dict[str, Any] = {"steal": None, "foreign": None}
    if before["ticks"] and after["ticks"]:
        ticks = {name: after["ticks"][name] - before["ticks"][name] for name in before["ticks"]}
        total = max(1, sum(ticks.values()))
        busy_s = (ticks["user"] + ticks["nice"] + ticks["system"]) / os.sysconf("SC_CLK_TCK")
        there_s = total / os.sysconf("SC_CLK_TCK")
        values["steal"] = max(0.0, ticks["steal"] / total)
        values["foreign"] = max(0.0, (busy_s - (after["own_s"] - before["own_s"])) / there_s)
    for name, per_s in (("pressure_cpu", 1e6), ("pressure_memory", 1e6), ("pressure_io", 1e6), ("throttled_ns", 1e9)):
        known = before[name] is not None and after[name] is not None and elapsed_s > 0
        values[name.removesuffix("_ns")] = (after[name] - before[name]) / per_s / elapsed_s if known else None
    return values
