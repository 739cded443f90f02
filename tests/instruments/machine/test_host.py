"""Host counters from a made-up /proc, and the processor time of processes that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.machine.host import (
    HostNoise,
    ProcessTime,
    TreeCounts,
    TreeTime,
    clock_ticks_per_s,
    coordinator_time,
    frequency,
    process_time,
)
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread

STAT = "cpu  1000 100 500 3000 50 20 30 40 7 0\ncpu0 1 2\n"
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
GROUP = {
    "proc/self/cgroup": "0::/job\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu\n",
    "sys/fs/cgroup/job/cpu.stat": "nr_periods 40\nnr_throttled 4\nthrottled_usec 2500000\n",
}


def plant(root: Path, files: dict[str, str]) -> Machine:
    """A machine whose files are these."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Machine(root=root, environ={}, folder=root)


def test_every_counter_is_read_in_its_unit(tmp_path: Path) -> None:
    pressure = {f"proc/pressure/{name}": PRESSURE.format(some=1_500_000, full=250_000) for name in ("cpu", "memory", "io")}
    host = HostNoise(plant(tmp_path, {"proc/stat": STAT, **pressure, **GROUP}), ticks_per_s=100)
    stalled = [
        Reading(name, f"pressure_{kind}", value, "s") for name in ("cpu", "memory", "io") for kind, value in (("some", 1.5), ("full", 0.25))
    ]
    assert list(host.read()) == [
        Reading("cpu", "busy", 16.5, "s"),  # 1000 + 100 + 500 + 20 + 30 ticks; guest time is inside user
        Reading("cpu", "idle", 30.5, "s"),
        Reading("cpu", "steal", 0.4, "s"),
        *stalled,
        Reading("cgroup", "throttled", 2.5, "s"),
        Reading("cgroup", "throttled_periods", 4.0, "count"),
    ]
    assert host.absences.keys() == {"frequency", "memory_used", "cgroup_memory", "network", "tcp"}


def test_a_counter_that_is_not_there_gives_no_reading_and_a_reason(tmp_path: Path) -> None:
    host = HostNoise(plant(tmp_path, {"proc/stat": STAT, "proc/pressure/io": PRESSURE.format(some=1, full=1)}), ticks_per_s=100)
    assert {(reading.device, reading.counter) for reading in host.read()} == {
        ("cpu", "busy"),
        ("cpu", "idle"),
        ("cpu", "steal"),
        ("io", "pressure_some"),
        ("io", "pressure_full"),
    }
    assert host.absences.keys() == {
        *("pressure_cpu", "pressure_memory", "throttled", "frequency"),
        *("memory_used", "cgroup_memory", "network", "tcp"),
    }
    assert host.absences["pressure_cpu"] == "/proc/pressure/cpu: No such file or directory"


@pytest.mark.parametrize("text", ["", "cpu", "cpu 1 2 x 4 5 6 7 8", "nonsense\n\n", "some total=x"])
def test_damaged_counters_cost_themselves_alone(tmp_path: Path, text: str) -> None:
    files = {"proc/stat": text, "proc/pressure/cpu": text, "proc/pressure/io": PRESSURE.format(some=2_000_000, full=0)}
    host = HostNoise(plant(tmp_path, files), ticks_per_s=100)
    assert list(host.read()) == [Reading("io", "pressure_some", 2.0, "s"), Reading("io", "pressure_full", 0.0, "s")]


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="needs /proc")
def test_this_machines_processor_time_adds_up_and_grows() -> None:
    host = HostNoise(Machine())
    first, second = ({(r.device, r.counter): r.value for r in host.read()} for _ in range(2))
    assert all(second["cpu", name] >= first["cpu", name] for name in ("busy", "steal"))
    assert first["cpu", "busy"] > 0


# ---- processor time of a tree --------------------------------------------------------------------------------------------


def stat_line(pid: int, seen: ProcessTime, name: str = "python") -> str:
    """A line of /proc/PID/stat with half of the time in user and half in system mode."""
    own, reaped = (seen.own // 2, seen.own - seen.own // 2), (seen.reaped // 2, seen.reaped - seen.reaped // 2)
    return f"{pid} ({name}) S {seen.parent} 1 1 0 -1 0 1 2 3 4 {own[0]} {own[1]} {reaped[0]} {reaped[1]} 20 0 1 0 {seen.begin} 99"


def show(root: Path, processes: dict[int, ProcessTime]) -> Machine:
    """A /proc with exactly these processes."""
    for old in (root / "proc").glob("[0-9]*/stat"):
        old.unlink()
    return plant(root, {f"proc/{pid}/stat": stat_line(pid, seen) for pid, seen in processes.items()})


def process(parent: int, own: int, reaped: int = 0, begin: int = 5) -> ProcessTime:
    return ProcessTime(parent=parent, begin=begin, own=own, reaped=reaped)


@pytest.mark.parametrize("name", ["python", "a b", "evil) S 1 2 (", "((", "))"])
def test_a_process_is_read_whatever_it_calls_itself(tmp_path: Path, name: str) -> None:
    machine = plant(tmp_path, {"proc/7/stat": stat_line(7, process(3, own=11, reaped=6, begin=99), name)})
    assert process_time(machine, 7) == process(3, own=11, reaped=6, begin=99)


@pytest.mark.parametrize("text", ["", "7 (x", "7 (x) S 1", "7 (x) S a b c d e f g h i j k l m n o p q r s t u v"])
def test_a_process_that_cannot_be_read_is_gone(tmp_path: Path, text: str) -> None:
    assert process_time(plant(tmp_path, {"proc/7/stat": text}), 7) is None


def tree(root: Path, waited_for_s: float = 0.0) -> TreeTime:
    return TreeTime(Machine(root=root), ticks_per_s=100, waited_for_s=lambda: waited_for_s)


def seconds(reading: Reading | None) -> float:
    assert reading is not None
    assert (reading.device, reading.counter, reading.unit) == ("launch", "cpu_time", "s")
    return reading.value


def test_no_process_seen_gives_no_reading(tmp_path: Path) -> None:
    assert tree(tmp_path).read([]) is None
    assert tree(tmp_path).read([1, 2]) is None


def test_a_tree_is_the_sum_of_its_processes(tmp_path: Path) -> None:
    show(tmp_path, {1: process(0, 100), 2: process(1, 200), 3: process(1, 50, reaped=25)})
    assert seconds(tree(tmp_path).read([1, 2, 3])) == 3.75


def test_a_child_that_was_waited_for_is_counted_once(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {1: process(0, 100), 2: process(1, 200)})
    times.read([1, 2])
    show(tmp_path, {1: process(0, 110, reaped=260)})  # the child used 60 more before it ended
    assert seconds(times.read([1])) == 3.7


@pytest.mark.parametrize("depth", [2, 3])
def test_a_child_that_ended_with_its_parent_is_counted_once(tmp_path: Path, depth: int) -> None:
    """A worker, the engine that waited for it, and the guard that waited for the engine: the guard has the time of both."""
    times = tree(tmp_path)
    show(tmp_path, {pid: process(pid - 1, 100) for pid in range(1, depth + 2)})
    times.read(range(1, depth + 2))
    show(tmp_path, {1: process(0, 100, reaped=100 * depth)})
    assert seconds(times.read([1])) == 1.0 + depth


def test_an_orphans_time_is_kept_when_it_ends(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {2: process(999, 200)})
    times.read([2])
    show(tmp_path, {})
    assert seconds(times.read([])) == 2.0


def test_a_whole_tree_that_ends_at_once_keeps_its_time(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {1: process(0, 100), 2: process(1, 200)})
    times.read([1, 2])
    show(tmp_path, {})
    assert seconds(times.read([])) == 3.0


def test_a_pid_used_again_by_a_stranger_is_not_counted(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {2: process(999, 200, begin=5)})
    times.read([2])
    show(tmp_path, {2: process(999, 10_000, begin=77)})
    assert seconds(times.read([])) == 2.0
    assert seconds(times.read([])) == 2.0


def test_a_pid_used_again_by_the_launch_is_counted_besides(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {2: process(999, 200, begin=5)})
    times.read([2])
    show(tmp_path, {2: process(999, 30, begin=77)})
    assert seconds(times.read([2])) == 2.3


def test_a_process_that_the_caller_lost_sight_of_is_still_followed(tmp_path: Path) -> None:
    times = tree(tmp_path)
    show(tmp_path, {2: process(1, 200)})
    times.read([2])
    show(tmp_path, {2: process(1, 300)})
    assert seconds(times.read([])) == 3.0


def test_what_the_coordinator_has_waited_for_since_the_beginning_counts_if_it_is_more(tmp_path: Path) -> None:
    waited = iter([10.0, 10.0, 14.5])
    times = TreeTime(Machine(root=tmp_path), ticks_per_s=100, waited_for_s=lambda: next(waited))
    show(tmp_path, {2: process(1, 200)})
    assert seconds(times.read([2])) == 2.0
    show(tmp_path, {})
    assert seconds(times.read([])) == 4.5


HISTORIES = st.lists(
    st.dictionaries(
        st.integers(1, 5),
        st.builds(ProcessTime, parent=st.integers(0, 5), begin=st.integers(1, 2), own=st.integers(0, 500), reaped=st.integers(0, 500)),
        max_size=5,
    ),
    max_size=8,
)


@given(HISTORIES)
def test_the_time_of_a_tree_never_falls_and_never_is_negative(history: list[dict[int, ProcessTime]]) -> None:
    state: dict[int, ProcessTime] = {}

    class Shown(Machine):
        def text(self, path: str) -> str:
            from fireassay.record.machine import Unread

            pid = int(path.split("/")[2])
            if pid not in state:
                raise Unread("gone")
            return stat_line(pid, state[pid])

    times, before = TreeTime(Shown(), ticks_per_s=100, waited_for_s=lambda: 0.0), 0.0
    for processes in history:
        state.clear()
        state.update(processes)
        reading = times.read(list(processes))
        value = before if reading is None else reading.value
        assert value >= before
        before = value


BURN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_real_child_that_ended_between_two_readings_is_counted() -> None:
    times = TreeTime(Machine(), clock_ticks_per_s())
    with subprocess.Popen([sys.executable, "-c", BURN]) as child:
        times.read([child.pid])
        child.wait(60)
    assert seconds(times.read([])) >= 0.3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_launchs_and_the_coordinators_time_agree_with_the_kernels_account() -> None:
    own = process_time(Machine(), os.getpid())
    assert own is not None
    assert abs(own.own / clock_ticks_per_s() - coordinator_time().value) < 0.5
    assert own.parent == os.getppid()


# ---- frequency, switches and faults ---------------------------------------------------------------------------------


def with_frequencies(root: Path, khz: list[int]) -> Machine:
    for number, value in enumerate(khz):
        folder = root / f"sys/devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{value}\n")
    return Machine(root=root, environ={}, folder=root)


def test_the_frequency_is_the_mean_of_the_processors_in_hertz(tmp_path: Path) -> None:
    [reading] = frequency(with_frequencies(tmp_path, [2_000_000, 3_000_000]))
    assert (reading.device, reading.counter, reading.value, reading.unit) == ("cpu", "frequency", 2.5e9, "Hz")


def test_of_many_processors_a_few_are_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(Machine):
        def number(self, path: str) -> int:
            asked.append(path)
            return super().number(path)

    machine = with_frequencies(tmp_path, [1_000_000] * 100)
    assert [reading.value for reading in frequency(Counting(root=machine.root, environ={}, folder=tmp_path))] == [1e9]
    assert 16 <= len(asked) <= 31


def test_a_machine_that_tells_no_frequency_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unread, match="as in many virtual machines"):
        list(frequency(Machine(root=tmp_path, environ={}, folder=tmp_path)))


def test_switches_and_faults_are_counted_from_the_launchs_beginning() -> None:
    seen = [(100, 5, 1000), (100, 5, 1000), (130, 7, 1900)]
    tree = TreeCounts(counts=lambda: seen.pop(0))
    assert [reading.value for reading in tree.read()] == [0.0, 0.0, 0.0]
    assert {reading.counter: reading.value for reading in tree.read()} == {
        "involuntary_switches": 30.0,
        "major_faults": 2.0,
        "minor_faults": 900.0,
    }


def test_a_child_that_was_waited_for_has_its_faults_counted() -> None:
    """Touching 64 MiB of fresh memory takes at least one page fault per 2 MiB, whatever the page size."""
    tree = TreeCounts()
    subprocess.run([sys.executable, "-S", "-c", "bytearray(1 << 26)"], check=True)
    assert next(r.value for r in tree.read() if r.counter == "minor_faults") >= 32
