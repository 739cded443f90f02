"""How noisy was the host?

CPU time, steal time, pressure and throttling, from the kernel's counters. All values are totals: consumers take differences between
two readings. For a window,

    foreign load = (busy - launch cpu_time - coordinator cpu_time) / (busy + idle + steal)

is the share of the machine used by other processes. Sources: proc(5), Documentation/accounting/psi.rst,
Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst. A counter that the kernel lacks yields no reading.
Resolution: one clock tick (10 ms) for CPU time, one microsecond for pressure. CPU frequency is a sample, not a total, and missing on many
virtual machines.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fireassay.instruments.machine import interfaces, memory
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread, cpu_ticks, pressure, throttled


def clock_ticks_per_s() -> int:
    """Clock ticks per second in /proc (sysconf(3)): 100 on nearly every Linux."""
    return os.sysconf("SC_CLK_TCK")


def processor_time(machine: Machine, ticks_per_s: int) -> Iterator[Reading]:
    """busy, idle and steal time of all CPUs together since boot, seconds. Guest time is already part of user time."""
    ticks = cpu_ticks(machine)
    busy = sum(ticks[mode] for mode in ("user", "nice", "system", "irq", "softirq"))
    yield Reading("cpu", "busy", busy / ticks_per_s, "s")
    yield Reading("cpu", "idle", (ticks["idle"] + ticks["iowait"]) / ticks_per_s, "s")
    yield Reading("cpu", "steal", ticks["steal"] / ticks_per_s, "s")


def stalls(machine: Machine, resource: str) -> Iterator[Reading]:
    """Pressure stall time of cpu, memory or io since boot, seconds."""
    for kind, us in pressure(machine, resource).items():
        yield Reading(resource, f"pressure_{kind.removesuffix('_us')}", us / 1e6, "s")


def throttling(machine: Machine) -> Iterator[Reading]:
    """How long and how often the cgroup was throttled by its CPU quota."""
    counted = throttled(machine)
    yield Reading("cgroup", "throttled", counted["throttled_ns"] / 1e9, "s")
    yield Reading("cgroup", "throttled_periods", float(counted["throttled_periods"]), "count")


MAX_ASKED = 16  # CPUs whose frequency is read: a sample on a machine with hundreds


def frequency(machine: Machine) -> Iterator[Reading]:
    """Mean CPU frequency now, Hz (the kernel gives kHz). Raises Unread if it is not reported."""
    files = machine.names("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
    if not files:
        raise Unread("no /sys/devices/system/cpu/cpu*/cpufreq, as in many virtual machines")
    chosen = files[:: max(1, len(files) // MAX_ASKED)]
    yield Reading("cpu", "frequency", sum(machine.number(file) for file in chosen) * 1e3 / len(chosen), "Hz", "sampled")


Source = Callable[[Machine], Iterable[Reading]]


def sources(ticks_per_s: int) -> dict[str, Source]:
    """The host's sources, by the name under which their absence is reported."""
    return {
        "processor_time": lambda machine: processor_time(machine, ticks_per_s),
        "pressure_cpu": lambda machine: stalls(machine, "cpu"),
        "pressure_memory": lambda machine: stalls(machine, "memory"),
        "pressure_io": lambda machine: stalls(machine, "io"),
        "throttled": throttling,
        "frequency": frequency,
        "memory_used": memory.machine_memory,
        "cgroup_memory": memory.group_memory,
        "network": interfaces.Interfaces().read,
        "tcp": interfaces.tcp_readings,
    }


class HostNoise:
    """Reads every available host counter. `absences` gives the reason for missing ones."""

    def __init__(self, machine: Machine, *, ticks_per_s: int | None = None) -> None:
        self._machine = machine
        self._sources = sources(ticks_per_s or clock_ticks_per_s())
        self.absences: dict[str, str] = {}
        for _ in self.read():
            pass  # once, for the absences

    def read(self) -> Iterator[Reading]:
        """All counters, each read on demand. A failed source is noted and retried at the next reading."""
        for name, source in self._sources.items():
            try:
                yield from source(self._machine)
            except (Unread, ValueError, LookupError) as error:
                self.absences[name] = str(error)


# ---- the launch's own CPU time


@dataclass(frozen=True, slots=True)
class ProcessTime:
    """/proc/PID/stat of a process: its parent, its start (ticks since boot) and its CPU time."""

    parent: int
    begin: int
    own: int  # ticks, user and system, all threads
    reaped: int  # ticks of its reaped children, and of theirs


def process_time(machine: Machine, pid: int) -> ProcessTime | None:
    """A process's times, or None if it is gone."""
    try:
        text = machine.text(f"/proc/{pid}/stat")
        values = text[text.rindex(")") + 1 :].split()  # the name before may contain spaces and parentheses
        parent, begin, user, system, their_user, their_system = (int(values[field - 3]) for field in _STAT_FIELDS)
    except (Unread, ValueError, IndexError):
        return None
    return ProcessTime(parent=parent, begin=begin, own=user + system, reaped=their_user + their_system)


_STAT_FIELDS = (4, 22, 14, 15, 16, 17)  # numbered as in proc_pid_stat(5); the first after the name is 3


def reaped_s() -> float:
    """CPU seconds of all reaped children of this process, and of theirs (getrusage(2))."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass
class TreeTime:
    """The CPU time of a launch's processes, including ended ones.

    An ended process is in the `reaped` time of its nearest living ancestor in the launch; without one its last reading is kept, so at most
    one interval of an orphan's time is lost. Once the coordinator has reaped the launch's first process, its own count of children's time
    covers the whole launch, and the larger value is returned: this also covers launches shorter than the sampling interval. The total never
    falls.
    """

    machine: Machine
    ticks_per_s: int
    waited_for_s: Callable[[], float] = reaped_s
    _living: dict[int, ProcessTime] = field(default_factory=dict)
    _ended_ticks: int = 0
    _total_s: float = 0.0

    def __post_init__(self) -> None:
        self._earlier_s = self.waited_for_s()

    def read(self, pids: Sequence[int]) -> Reading | None:
        """Seconds used by the launch so far; None until a process of it was read."""
        now = {pid: seen for pid in self._oldest_first(pids) if (seen := process_time(self.machine, pid)) is not None}
        for pid, before in self._living.items():
            if not _same(now.get(pid), before) and not _was_handed_on(before, self._living, now):
                self._ended_ticks += before.own + before.reaped
        # A known pid whose process was replaced by an unrelated one leaves the launch.
        self._living = {pid: seen for pid, seen in now.items() if pid in pids or _same(seen, self._living.get(pid))}
        ticks = self._ended_ticks + sum(seen.own + seen.reaped for seen in self._living.values())
        self._total_s = max(self._total_s, ticks / self.ticks_per_s, self.waited_for_s() - self._earlier_s)
        seen_any = bool(self._living) or self._total_s > 0
        return Reading("launch", "cpu_time", self._total_s, "s") if seen_any else None

    def _oldest_first(self, pids: Sequence[int]) -> list[int]:
        """Parents before children: a child that ends between two reads is then missed once, never counted twice."""
        begins = {pid: seen.begin for pid, seen in self._living.items()}
        return sorted({*pids, *begins}, key=lambda pid: (begins.get(pid, math.inf), pid))


def reaped_counts() -> tuple[int, int, int]:
    """(involuntary context switches, major, minor page faults) of all reaped children of this process and of theirs.

    Covers all threads, ended ones included (getrusage(2)).
    """
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_nivcsw, usage.ru_majflt, usage.ru_minflt


@dataclass(frozen=True)
class Ended:
    """What the ended processes of launches have used, by whoever reaped them: this process, unless a node's supervisor did."""

    seconds: Callable[[], float] = reaped_s
    counts: Callable[[], tuple[int, int, int]] = reaped_counts


@dataclass
class TreeCounts:
    """Context switches and page faults of a launch's processes.

    The kernel reports them when the coordinator reaps the launch's first process, so the totals stay at 0 until then and the last reading
    of a launch holds all of them. Reading every thread in /proc meanwhile would disturb the launch and miss ended threads.
    """

    counts: Callable[[], tuple[int, int, int]] = reaped_counts

    def __post_init__(self) -> None:
        self._earlier = self.counts()

    def read(self) -> Iterator[Reading]:
        """Totals since the launch began."""
        names = ("involuntary_switches", "major_faults", "minor_faults")
        for name, now, before in zip(names, self.counts(), self._earlier, strict=True):
            yield Reading("launch", name, float(now - before), "count")


def _same(first: ProcessTime | None, second: ProcessTime | None) -> bool:
    """True if both are the same process: a reused pid has another start time."""
    return first is not None and second is not None and first.begin == second.begin


def _was_handed_on(ended: ProcessTime, before: dict[int, ProcessTime], now: dict[int, ProcessTime]) -> bool:
    """True if its time is in a living process's `reaped`: its parent's, or further up if those ended with it."""
    passed: set[int] = set()
    while ended.parent in before and ended.parent not in passed:
        passed.add(ended.parent)
        if _same(now.get(ended.parent), before[ended.parent]):
            return True
        ended = before[ended.parent]
    return False


def coordinator_time() -> Reading:
    """CPU seconds used by assay itself in this process."""
    return Reading("coordinator", "cpu_time", time.process_time_ns() / 1e9, "s", "self")
