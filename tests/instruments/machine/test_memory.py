"""Memory of the machine, the control group and processes, from a made-up /proc and from this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fireassay.instruments.machine.memory import group_memory, machine_memory, of_processes
from fireassay.record.machine import Machine, Unread
from tests.instruments.machine.test_host import plant

PAGE = os.sysconf("SC_PAGE_SIZE")
ROLLUP = "55d0-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 400 kB\nPss:   {kb} kB\nPss_Anon: 1 kB\n"


def plain(readings: object) -> list[tuple[str, str, float]]:
    return [(reading.device, reading.counter, reading.value) for reading in readings]  # type: ignore[attr-defined]


def test_memory_in_use_is_what_is_not_available(tmp_path: Path) -> None:
    machine = plant(tmp_path, {"proc/meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n"})
    assert plain(machine_memory(machine)) == [("memory", "used", 600 * 1024.0), ("memory", "total", 1000 * 1024.0)]


@pytest.mark.parametrize(("limit", "more"), [("max", []), ("4096", [("cgroup", "memory_limit", 4096.0)])])
def test_a_group_has_a_limit_only_if_one_was_set(tmp_path: Path, limit: str, more: list[tuple[str, str, float]]) -> None:
    files = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/cgroup.controllers": "memory\n"}
    machine = plant(tmp_path, {**files, "sys/fs/cgroup/job/memory.current": "1024\n", "sys/fs/cgroup/job/memory.max": limit})
    assert plain(group_memory(machine)) == [("cgroup", "memory_used", 1024.0), *more]


def test_a_machine_without_these_files_says_so(tmp_path: Path) -> None:
    for read in (machine_memory, group_memory):
        with pytest.raises(Unread):
            list(read(Machine(root=tmp_path, environ={})))


def test_processes_are_summed_by_group_once_each(tmp_path: Path) -> None:
    """Process 5 has 3 resident pages and 8 kB proportional, 6 has 2 and 4 kB; 7 is gone."""
    files = {"proc/5/statm": "9 3 1 1 0 1 0", "proc/5/smaps_rollup": ROLLUP.format(kb=8)}
    files |= {"proc/6/statm": "9 2 1 1 0 1 0", "proc/6/smaps_rollup": ROLLUP.format(kb=4)}
    assert plain(of_processes(plant(tmp_path, files), {"launch": (5, 6, 6, 7), "replica-0": (7,)})) == [
        ("launch", "memory_resident", 5.0 * PAGE),
        ("launch", "memory_proportional", 12 * 1024.0),
    ]


def test_a_process_of_another_user_leaves_no_proportional_sum(tmp_path: Path) -> None:
    files = {"proc/5/statm": "9 3 1", "proc/5/smaps_rollup": ROLLUP.format(kb=8), "proc/6/statm": "9 2 1"}
    assert plain(of_processes(plant(tmp_path, files), {"launch": (5, 6)})) == [("launch", "memory_resident", 5.0 * PAGE)]


def test_a_process_that_has_ended_but_was_not_reaped_does_not_hide_the_others(tmp_path: Path) -> None:
    files = {"proc/5/statm": "9 3 1", "proc/5/smaps_rollup": ROLLUP.format(kb=8), "proc/6/statm": "0 0 0 0 0 0 0"}
    assert plain(of_processes(plant(tmp_path, files), {"launch": (5, 6)}))[-1] == ("launch", "memory_proportional", 8 * 1024.0)


@pytest.mark.parametrize("text", ["", "x", "1", "1 y"])
def test_damaged_files_give_nothing(tmp_path: Path, text: str) -> None:
    assert plain(of_processes(plant(tmp_path, {"proc/5/statm": text, "proc/5/smaps_rollup": text}), {"launch": (5,)})) == []


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs a kernel from 4.14 on")
def test_a_block_of_this_process_is_seen_in_both_sums() -> None:
    """32 MiB that no other process shares."""
    size = 32 << 20
    before = {reading.counter: reading.value for reading in of_processes(Machine(), {"launch": (os.getpid(),)})}
    block = bytearray(b"x") * size
    after = {reading.counter: reading.value for reading in of_processes(Machine(), {"launch": (os.getpid(),)})}
    assert len(block) == size
    assert after["memory_proportional"] - before["memory_proportional"] > 0.9 * size
    assert after["memory_proportional"] <= after["memory_resident"] * 1.05
