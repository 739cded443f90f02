"""How well does this machine measure?  Clock, sleep, environment, and many launches of the same fixed work.

The launches go through the installed harness itself: the runner `function`, its supervisor and its record, with the fixed work
of `instruments/machine/fixed_work.py`.  Nothing is judged here, and nothing on the machine is changed.

How accurately does this client measure on this machine, and how much load can it generate?

Loads with known ground truth (`fireassay.runners.calibration.client_drill`), one client process each:

    errors      closed loops of 1, 32, 128 and 512 streams on a paced server (first token after 50 ms, then one every 10 ms): errors
    of the client's TTFT and ITL.  All streams are in phase, the hardest case for one process
    ceiling     64 streams on a server that responds immediately: unstreamed (requests per second), streamed (chunks per second)
    provoked    closed loops of 32 streams whose client is repeatedly stopped for 100 ms, or competes with a busy loop on every
    processor: data that arrive meanwhile are read in one go, and the client must report its uncertainty
    timer       an open loop of 200 requests per second: how late due requests are sent

The reference server is also Python and shares the machine.  If it, not the client, is the bottleneck, the ceiling is extrapolated
from the client's processor time per request, and marked.  Nothing is judged here.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import Interrupted, WorkloadError
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.record.environment import capture_keys
from fireassay.record.machine import Machine, Unread, absent, cpu_ticks, pressure, throttled
from fireassay.runners.calibration.client_drill import DISTURBANCES, Disturb, DrillResult, Errors, compare_times, drill
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
    scratch: Path, seconds: float, *, launches: int = LAUNCHES, on_progress: Callable[[RunProgress], None] | None = None
) -> MachineExamination:
    """Measure for about `seconds`; the record of the launches is created below `scratch`.

    Ctrl-C ends it early with partial results.
    """
    machine = Machine()
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


STREAMS: Final = (1, 32, 128, 512)
FIRST_S: Final = 0.05
NEXT_S: Final = 0.01
TOKENS: Final = 64
TOKENS_ALONE: Final = 16  # at one stream, to fit enough requests
CEILING_STREAMS: Final = 64
CEILING_TOKENS: Final = 32
TIMER_RATE: Final = 200.0
TOKENS_IN: Final = 20
PROVOKED_STREAMS: Final = 32
DRILLS: Final = len(STREAMS) + len(DISTURBANCES) + 3
APART_S: Final = 2.5  # of a drill, besides its measured part and warm-up: starting both processes, reading the truth
WARM_UP_S: Final = 1.5  # two responses long: excludes the initial burst
MIN_S: Final = 1.0
LIMITED: Final = 0.9  # of a core: above it, the process was the bottleneck
MS: Final = 1e6

Show = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ClientCalibration:
    """The results; None for what was not reached."""

    errors: list[dict[str, Any]]
    provoked: list[dict[str, Any]]
    ceiling: dict[str, Any] | None
    timer_lag_ms: dict[str, float] | None
    seconds: float
    stopped: str  # why it ended early; empty if it did not


def calibrate(scratch: Path, seconds: float, show: Show = lambda _: None, streams: tuple[int, ...] = STREAMS) -> ClientCalibration:
    """Measure for about `seconds` in folders below `scratch`. Ctrl-C ends it early with partial results."""
    began = time.monotonic()
    each_s = max(MIN_S, seconds / DRILLS - APART_S - WARM_UP_S)
    errors: list[dict[str, Any]] = []
    provoked: list[dict[str, Any]] = []
    results: dict[str, Any] = {}
    stopped = ""
    try:
        for count in streams:
            show(f"{count} streams")
            errors.append(error_at(count, each_s, scratch))
        for how in DISTURBANCES:
            show(f"{PROVOKED_STREAMS} streams, {how}")
            provoked.append(error_at(PROVOKED_STREAMS, each_s, scratch, disturbed=how))
        show(f"ceiling at {CEILING_STREAMS} streams")
        results["ceiling"] = ceiling(each_s, scratch)
        show(f"timer at {TIMER_RATE:g} requests per second")
        results["timer"] = timer(each_s, scratch)
    except (KeyboardInterrupt, Interrupted):
        stopped = "stopped by Ctrl-C"
    return ClientCalibration(
        errors=errors,
        provoked=provoked,
        ceiling=results.get("ceiling"),
        timer_lag_ms=results.get("timer"),
        seconds=time.monotonic() - began,
        stopped=stopped,
    )


def about() -> dict[str, str]:
    """The software that the client ran on."""
    loop = "asyncio"
    with suppress(PackageNotFoundError):
        loop = f"uvloop {version('uvloop')}"
    return {"python": platform.python_version(), "loop": loop}


# ---- drills ----------------------------------------------------------------------------------------------------------


def error_at(streams: int, seconds: float, scratch: Path, disturbed: str = "") -> dict[str, Any]:
    """Errors of the client's times with `streams` streams, milliseconds: p50 and p99 of their absolute values.

    disturbed: a disturbance of the client (`fireassay.runners.calibration.machine`).  `within`: share of responses whose first
    token arrived within the client's stated uncertainty; null if it states none.
    """
    tokens = TOKENS_ALONE if streams == 1 else TOKENS
    drilled = _drilled(
        Settings(first_s=FIRST_S, next_s=NEXT_S, numbered=True),
        scratch,
        seconds,
        load=streams,
        tokens=tokens,
        disturb=DISTURBANCES[disturbed] if disturbed else None,
    )
    errors = compare_times(drilled)
    answer_s = FIRST_S + (tokens - 1) * NEXT_S
    return {
        "streams": streams,
        "disturbed": disturbed,
        "requests": len(errors.ttft),
        "chunks": len(errors.seen),
        "unpaired": errors.unpaired,
        "ttft_ms": spread(abs(errors.ttft)),
        "itl_ms": spread(abs(errors.itl)),
        "seen_ms": spread(errors.seen),
        "told_ms": spread(errors.told),
        "unsure_ms": spread(errors.unsure),
        "within": _within(errors),
        "send_ms": spread(errors.sent),
        "lag_ms": spread(errors.lag),
        "ttft_bias_ms": spread(errors.ttft).get("p50"),
        "itl_bias_ms": spread(errors.itl).get("p50"),
        "achieved": _rate(drilled, seconds) / (streams / answer_s),
        **_cost(drilled),
    }


def ceiling(seconds: float, scratch: Path) -> dict[str, Any]:
    """Requests and chunks per second that one client process sustains, and the bottleneck."""
    whole = _drilled(_immediate(flush_all=True), scratch, seconds, load=CEILING_STREAMS, tokens=CEILING_TOKENS)
    pieces = _drilled(_immediate(), scratch, seconds, load=CEILING_STREAMS, tokens=CEILING_TOKENS)
    requests, chunks = _limit(whole, _rate(whole, seconds)), _limit(pieces, _rate(pieces, seconds) * CEILING_TOKENS)
    return {
        "streams": CEILING_STREAMS,
        "tokens": CEILING_TOKENS,
        "requests_per_s": requests["reachable"],
        "chunks_per_s": chunks["reachable"],
        "requests": requests,
        "chunks": chunks,
    }


def timer(seconds: float, scratch: Path) -> dict[str, float]:
    """How late requests with a due time are sent, milliseconds."""
    arrivals = {"process": "constant", "duration_s": seconds, "warm_up_s": 0.5, "cold": 0, "drain_s": 10.0}
    settings = _immediate(flush_all=True)
    return spread(_run(settings, scratch, {"rate": [TIMER_RATE], "arrivals": arrivals}, load=TIMER_RATE, tokens=8).lag_ns)


def _immediate(*, flush_all: bool = False) -> Settings:
    return Settings(first_s=0.0, next_s=0.0, numbered=True, flush_all=flush_all, truth="none", spin_s=0.0)


def _drilled(settings: Settings, scratch: Path, seconds: float, *, load: int, tokens: int, disturb: Disturb | None = None) -> DrillResult:
    arrivals = {"duration_s": seconds, "warm_up_s": WARM_UP_S, "cold": 0, "drain_s": 10.0}
    loads = {"concurrency": [load], "arrivals": arrivals}
    return _run(settings, scratch, loads, load=load, tokens=tokens, disturb=disturb)


def _run(
    settings: Settings, scratch: Path, loads: Mapping[str, Any], *, load: float, tokens: int, disturb: Disturb | None = None
) -> DrillResult:
    """Run a drill in a temporary folder."""
    folder = scratch / "drill"
    try:
        with serving(settings) as server:
            return drill(loads, server, folder, load=load, scenario=f"D({TOKENS_IN},{tokens})", disturb=disturb)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- figures ---------------------------------------------------------------------------------------------------------


def spread(ns: npt.NDArray[np.int64]) -> dict[str, float]:
    """Median, p99 and maximum, milliseconds; empty without data, never NaN."""
    import numpy as np

    if not len(ns):
        return {}
    return {"p50": float(np.percentile(ns, 50)) / MS, "p99": float(np.percentile(ns, 99)) / MS, "max": float(ns.max()) / MS}


def _within(errors: Errors) -> float | None:
    """Share of responses whose first token arrived within its uncertainty, of those that state one."""
    return float((errors.outside == 0).mean()) if len(errors.outside) else None


def _rate(drilled: DrillResult, seconds: float) -> float:
    """Successful requests per second of the measured part."""
    return float(drilled.main.num_rows / seconds)


def _cost(drilled: DrillResult) -> dict[str, float | None]:
    """Cores used by the client, the server and other programs; the client's processor time per chunk."""
    return {
        "client_cores": drilled.client_cpu_s / drilled.duration_s,
        "server_cores": drilled.server_cpu_s / drilled.duration_s,
        "foreign_cores": drilled.foreign,
        "client_us_per_chunk": 1e6 * drilled.client_cpu_s / max(1, drilled.chunks),
    }


def _limit(drilled: DrillResult, measured: float) -> dict[str, Any]:
    """The bottleneck of a rate, and the rate that the client alone would reach."""
    cost = _cost(drilled)
    client, server = float(cost["client_cores"] or 0.0), float(cost["server_cores"] or 0.0)
    client_limited = client >= LIMITED
    return {
        "measured": measured,
        "limited_by": "client" if client_limited else "server" if server >= LIMITED else "other programs",
        "reachable": measured if client_limited or not client else measured / client,
        **cost,
    }
