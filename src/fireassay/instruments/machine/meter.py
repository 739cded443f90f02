"""What did the machine do while a launch ran?

A thread of the coordinator, or of the agent on each node (`launchers/support/node_agent.py`), reads the counters and writes telemetry: when a
launch begins, every `energy.sample_every_s` seconds, and when it ends, so a counter's first and last row enclose the launch. `COUNTERS` lists
the counters. The meter's own cost is telemetry too (device `meter`). A failure here never ends a launch: rows are left out, with the reason in
`absences`.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.instruments.machine.energy.nvml import import_nvml
from fireassay.instruments.machine.energy.support.launch_energy import LaunchEnergy, find, modelled, update_period_s
from fireassay.instruments.machine.energy.support.source import Around
from fireassay.instruments.machine.gpus import GpuState
from fireassay.instruments.machine.host import Ended, HostNoise, TreeCounts, TreeTime, clock_ticks_per_s, coordinator_time
from fireassay.instruments.machine.memory import of_processes
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine
from fireassay.spec.sections.energy import Energy
from fireassay.units import NS_PER_S

Row = tuple[int, int, str, str, str, float, str, str]  # launch, ns, host, device, counter, value, unit, method
MAX_COST: Final = 0.005  # CPU share for listing processes and reading their memory: a host may have many thousands
JOIN_S: Final = 10.0  # a hanging driver must not block the experiment


@dataclass(frozen=True)
class Counter:
    """One counter of the telemetry table."""

    device: str
    name: str
    unit: str
    method: str
    meaning: str
    source: str


COUNTERS: Final = (
    Counter("cpu", "busy", "s", "counter", "user, system and interrupt time of all CPUs, since boot", "/proc/stat"),
    Counter("cpu", "idle", "s", "counter", "idle time of all CPUs, I/O wait included, since boot", "/proc/stat"),
    Counter("cpu", "steal", "s", "counter", "steal time of all CPUs (taken by the hypervisor), since boot", "/proc/stat"),
    Counter(
        "cpu, memory, io",
        "pressure_some",
        "s",
        "counter",
        "time during which at least one task waited for the resource, since boot",
        "/proc/pressure",
    ),
    Counter(
        "cpu, memory, io",
        "pressure_full",
        "s",
        "counter",
        "time during which all tasks waited for the resource, since boot",
        "/proc/pressure",
    ),
    Counter("cgroup", "throttled", "s", "counter", "time for which the cgroup was throttled by its CPU quota", "cpu.stat"),
    Counter("cgroup", "throttled_periods", "count", "counter", "periods in which the cgroup used up its quota", "cpu.stat"),
    Counter("cpu", "frequency", "Hz", "sampled", "mean CPU frequency (of 16 to 31 CPUs on larger machines)", "cpufreq"),
    Counter(
        "memory", "used", "B", "sampled", "memory of the machine that no new program could get: MemTotal - MemAvailable", "/proc/meminfo"
    ),
    Counter("memory", "total", "B", "sampled", "memory of the machine", "/proc/meminfo"),
    Counter("cgroup", "memory_used", "B", "sampled", "memory charged to the control group, page cache included", "memory.current"),
    Counter("cgroup", "memory_limit", "B", "sampled", "its limit, if it has one", "memory.max"),
    Counter(
        "launch, replica-N", "memory_resident", "B", "sampled", "resident memory; a shared page counts in each process", "/proc/PID/statm"
    ),
    Counter(
        "launch, replica-N",
        "memory_proportional",
        "B",
        "sampled",
        "the same with each shared page divided among the processes that map it",
        "/proc/PID/smaps_rollup",
    ),
    Counter("launch, replica-N", "device_memory", "B", "sampled", "memory of these processes on all GPUs, if NVML knows their ids", "NVML"),
    Counter("net-NAME", "received_bytes", "B", "counter", "bytes received by an interface since boot; the 8 busiest ones", "/proc/net/dev"),
    Counter("net-NAME", "sent_bytes", "B", "counter", "bytes sent", "/proc/net/dev"),
    Counter("net-NAME", "received_packets", "count", "counter", "packets received", "/proc/net/dev"),
    Counter("net-NAME", "sent_packets", "count", "counter", "packets sent", "/proc/net/dev"),
    Counter("net-NAME", "errors", "count", "counter", "packets with errors, both directions", "/proc/net/dev"),
    Counter("net-NAME", "dropped", "count", "counter", "packets dropped, both directions", "/proc/net/dev"),
    Counter("tcp", "segments_sent", "count", "counter", "TCP segments sent, all interfaces", "/proc/net/snmp"),
    Counter(
        "tcp", "segments_sent_again", "count", "counter", "TCP segments retransmitted because they were lost or late", "/proc/net/snmp"
    ),
    Counter("launch", "cpu_time", "s", "counter", "CPU time of the launch's processes, ended ones included", "/proc/PID/stat"),
    Counter(
        "launch", "involuntary_switches", "count", "counter", "preemptions by the scheduler; 0 until the launch has ended", "getrusage"
    ),
    Counter("launch", "major_faults", "count", "counter", "page faults that required disk I/O; 0 until the launch has ended", "getrusage"),
    Counter("launch", "minor_faults", "count", "counter", "page faults without disk I/O; 0 until the launch has ended", "getrusage"),
    Counter("coordinator", "cpu_time", "s", "self", "CPU time of assay's own processes on the host since their start", "getrusage"),
    Counter("meter", "cpu_time", "s", "self", "CPU time of the meter in this launch, up to the previous reading", "thread clock"),
    Counter("sentinel", "before", "s", "self", "time of a fixed piece of work, the same on all hosts, just before the launch", "clock"),
    Counter("sentinel", "after", "s", "self", "the same, just after the launch", "clock"),
    Counter("gpu-N", "utilisation", "share", "sampled", "share of the driver's last sample period in which some kernel ran", "NVML"),
    Counter("gpu-N", "memory_used", "B", "sampled", "memory in use on the GPU: all processes and the driver", "NVML"),
    Counter("gpu-N", "memory_total", "B", "sampled", "memory of the GPU", "NVML"),
    Counter("gpu-N", "sm_clock", "Hz", "sampled", "SM clock of the GPU", "NVML"),
    Counter("gpu-N", "temperature", "degC", "sampled", "core temperature of the GPU", "NVML"),
    Counter("gpu-N", "slowdown_hardware", "flag", "sampled", "1 while the hardware lowers the clocks, for any reason", "NVML"),
    Counter("gpu-N", "slowdown_thermal", "flag", "sampled", "1 while the clocks are lowered because of heat", "NVML"),
    Counter("gpu-N", "slowdown_power_brake", "flag", "sampled", "1 while the power supply forces lower clocks", "NVML"),
    Counter("package-N, dram-N", "energy", "J", "counter", "energy of a CPU package or its DRAM since the launch's first reading", "RAPL"),
    Counter("GPU-...", "energy", "J", "counter", "energy of a GPU since the launch's first reading", "NVML total energy"),
    Counter(
        "host-NAME",
        "energy",
        "J",
        "sampled",
        "integral of a power of the whole host since the launch's first reading",
        "IPMI, Redfish, exporter",
    ),
    Counter(
        "as energy",
        "energy_bound",
        "J",
        "counter",
        "by how much `energy` can be off: wraps, resets, delay and step of the meter",
        "computed",
    ),
    Counter("as energy", "idle_power", "W", "sampled", "mean power before the launch, for energy.idle = subtract", "the meter of energy"),
    Counter(
        "workers", "energy", "J", "modelled", "watts per worker x workers x time: assumed, never added to measured joules", "experiment"
    ),
    Counter(
        "as energy",
        "energy_doubts",
        "count",
        "counter",
        "intervals with possibly missing energy; `energy` is then a lower bound",
        "computed",
    ),
    Counter("as energy", "energy_errors", "count", "counter", "readings of the energy counter that failed", "computed"),
    Counter(
        "as energy",
        "sensor_period",
        "s",
        "sampled",
        "update period of the energy counter; windows shorter than 20 of them are unreliable",
        "polling",
    ),
)


class Meter:
    """Reads the host's and the devices' counters during launches, one launch at a time."""

    def __init__(
        self,
        energy: Energy,
        emit: Callable[[Row], None],
        clock: Clock,
        *,
        machine: Machine | None = None,
        load_nvml: Callable[[], Any] = import_nvml,
        host: str = "",
        own: Callable[[], Reading] = coordinator_time,
    ) -> None:
        """`host`: the name in its rows; default: this machine's. `own`: the CPU time of assay itself on this machine."""
        self._energy, self._emit, self._clock = energy, emit, clock
        self._machine = machine or Machine()
        self._name, self._own = host or socket.gethostname(), own
        self._host = HostNoise(self._machine)
        self._gpus = GpuState(load_nvml, self._machine.environ)
        self._counters, self._absences = find(Around(energy=energy, machine=self._machine, load_nvml=load_nvml))
        self._periods: dict[str, float] | None = None  # measured during the first launch
        self._idle: tuple[Reading, ...] = ()
        self._run: _Run | None = None

    def absences(self) -> dict[str, str]:
        """Reasons for missing measurements, by name: "energy" if there are no joules at all."""
        return {**self._host.absences, **self._gpus.absences, **self._absences}

    def start(
        self,
        launch: int,
        pids: Callable[[], Sequence[int]],
        *,
        workers: int | None = None,
        groups: Callable[[], Mapping[str, Sequence[int]]] | None = None,
        ended: Ended | None = None,
    ) -> None:
        """Start metering a launch: one reading now, then one every `sample_every_s`.

        Args:
            pids: returns the launch's processes at the time of the call.
            workers: needed only for modelled energy.
            groups: returns the processes whose memory is summed, by name ("replica-0"). Default: those of `pids`, as "launch".
            ended: use of processes that have ended. Default: those that this process reaped.
        """
        self.stop()
        if self._energy.source == "modelled" and workers is None:
            self._absences["energy"] = "modelled energy needs the number of workers of the launch"
        ended = ended or Ended()
        tree = TreeTime(self._machine, clock_ticks_per_s(), ended.seconds)
        self._run = _Run(launch, pids, groups, workers, LaunchEnergy(self._counters), tree, self._clock.now_ns())
        self._run.counts = TreeCounts(ended.counts)
        self._emit_all(self._run, self._idle)
        self._idle = ()
        self._emit_all(self._run, self._readings(self._run))
        self._run.thread = threading.Thread(target=self._loop, args=(self._run,), name="assay-meter", daemon=True)
        self._run.thread.start()

    def stop(self) -> None:
        """Stop metering, with a last reading. No-op if no launch is metered."""
        run, self._run = self._run, None
        if run is None or run.thread is None:
            return
        run.stopped.set()
        run.thread.join(JOIN_S)
        if run.thread.is_alive():
            self._absences["meter"] = f"a reading did not return within {JOIN_S:g} s; the last one of launch {run.launch} is missing"
            return
        self._emit_all(run, self._readings(run))

    def before_launch(self) -> None:
        """Measure the power of each device for `idle_s` while nothing runs yet, if it is to be subtracted."""
        if self._energy.idle != "subtract" or not self._counters:
            return
        devices, begin_ns = LaunchEnergy(self._counters), self._clock.now_ns()
        joules = {reading.device: reading.value for reading in devices.read(self._clock) if reading.counter == "energy"}
        end_ns = begin_ns + round(self._energy.idle_s * NS_PER_S)
        while (left_ns := end_ns - self._clock.now_ns()) > 0:
            self._clock.sleep(min(self._energy.sample_every_s, left_ns / NS_PER_S))
            joules |= {reading.device: reading.value for reading in devices.read(self._clock) if reading.counter == "energy"}
        seconds = (self._clock.now_ns() - begin_ns) / NS_PER_S
        self._idle = tuple(Reading(device, "idle_power", value / seconds, "W", "sampled") for device, value in joules.items())

    def _loop(self, run: _Run) -> None:
        self._emit_all(run, self._sensor_periods(run))
        due = run.begin_ns
        while True:
            due = max(due + round(self._energy.sample_every_s * NS_PER_S), self._clock.now_ns())
            if run.stopped.wait((due - self._clock.now_ns()) / NS_PER_S):
                return
            self._emit_all(run, self._readings(run))

    def _emit_all(self, run: _Run, readings: Iterable[Reading]) -> None:
        """Write the rows as they are read. Errors are noted, never raised: the launch matters more."""
        began = time.thread_time_ns()
        try:
            for reading in readings:
                now = self._clock.now_ns()
                self._emit((run.launch, now, self._name, reading.device, reading.counter, reading.value, reading.unit, reading.method))
        except Exception as error:
            self._note(error)
        run.cost_ns += time.thread_time_ns() - began

    def _note(self, error: Exception) -> None:
        self._absences["meter"] = f"{type(error).__name__}: {error}"[:200]

    def _readings(self, run: _Run) -> Iterator[Reading]:
        """Every counter, read one by one, so that each row carries the time of its own reading."""
        yield from run.energy.read(self._clock)
        yield from self._host.read()
        yield from self._gpus.read()
        yield self._own()
        pids, memory = self._processes(run)
        tree_time = run.tree.read(pids)
        if tree_time is not None:
            yield tree_time
        yield from memory
        yield from run.counts.read()
        watts = self._energy.modelled_watts_per_worker
        if self._energy.source == "modelled" and watts is not None and run.workers is not None:
            yield modelled(watts, run.workers, (self._clock.now_ns() - run.begin_ns) / NS_PER_S)
        yield Reading("meter", "cpu_time", run.cost_ns / NS_PER_S, "s", "self")

    def _processes(self, run: _Run) -> tuple[Sequence[int], Sequence[Reading]]:
        """The launch's processes and their memory, if listing and reading them is cheap enough by now; known ones are always followed."""
        now = self._clock.now_ns()
        if now < run.ask_again_ns and not run.stopped.is_set():
            return (), ()
        began = time.thread_time_ns()
        try:
            pids = run.pids()
            groups = run.groups() if run.groups is not None else {"launch": pids}
            return pids, (*of_processes(self._machine, groups), *self._gpus.of_processes(groups))
        except Exception as error:  # the launcher's error; the other counters still work
            self._note(error)
            return (), ()
        finally:
            run.ask_again_ns = now + round((time.thread_time_ns() - began) / MAX_COST)

    def _sensor_periods(self, run: _Run) -> Iterator[Reading]:
        """Each energy counter's update period: measured once, repeated in every launch's rows."""
        if self._periods is None:
            periods = {c.device: update_period_s(c, self._clock, run.stopped.is_set) for c in self._counters}
            if run.stopped.is_set():
                return  # the launch is too short; the next one retries
            self._periods = {device: period for device, period in periods.items() if period is not None}
        for device, period in self._periods.items():
            yield Reading(device, "sensor_period", period, "s", "sampled")


class _Run:
    """The launch being metered."""

    def __init__(
        self,
        launch: int,
        pids: Callable[[], Sequence[int]],
        groups: Callable[[], Mapping[str, Sequence[int]]] | None,
        workers: int | None,
        energy: LaunchEnergy,
        tree: TreeTime,
        begin_ns: int,
    ) -> None:
        self.launch, self.pids, self.groups, self.workers = launch, pids, groups, workers
        self.energy, self.tree, self.begin_ns = energy, tree, begin_ns
        self.counts = TreeCounts()
        self.cost_ns = 0
        self.ask_again_ns = 0
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None


def reference() -> str:
    """The reference page docs/reference/telemetry.md, from `COUNTERS`."""
    rows = [f"| {c.device} | `{c.name}` | {c.unit} | {c.method} | {c.meaning} | {c.source} |" for c in COUNTERS]
    return "\n".join((_REFERENCE_HEAD, *rows, ""))


_REFERENCE_HEAD: Final = """# The counters in the telemetry table

Counters are totals: the use between two readings is their difference. A counter that the machine lacks has no row; the reason
is in `manifest.json` under `environment`. Energy counters measure whole devices, other programs included. The joules of all
devices with method `counter` may be added up: nothing is counted twice.
This page is generated from `COUNTERS` in `src/fireassay/instruments/machine/meter.py`.

| device | counter | unit | method | meaning | source |
|---|---|---|---|---|---|"""
