"""How much memory do the machine, its control group and a launch's processes use?

    machine    MemTotal - MemAvailable (proc_meminfo(5)): what could not be given to a new program
    cgroup     memory.current against memory.max; the page cache of the group's files counts
    processes  resident (statm: a page shared by several processes counts in each) and proportional (smaps_rollup, Pss: a shared page is
               divided among the processes that map it), summed over the processes

The kernel keeps no peak of these sums, so they are samples: a peak between two readings is missed.  Reading Pss walks the page tables of a
process (Documentation/filesystems/proc.rst); the meter limits how often.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread, cgroup_folder, memory_bytes, memory_limit

RESIDENT, PROPORTIONAL, ON_DEVICE = "memory_resident", "memory_proportional", "device_memory"
_PSS = re.compile(r"^Pss:\s*(\d+) kB", re.MULTILINE)


def machine_memory(machine: Machine) -> Iterator[Reading]:
    """Memory in use and in all, bytes. Raises Unread."""
    total = memory_bytes(machine, "MemTotal")
    yield Reading("memory", "used", float(total - memory_bytes(machine, "MemAvailable")), "B", "sampled")
    yield Reading("memory", "total", float(total), "B", "sampled")


def group_memory(machine: Machine) -> Iterator[Reading]:
    """Memory that the control group is charged with, and its limit if it has one, bytes. Raises Unread."""
    folder, version = cgroup_folder(machine, "memory")
    used = machine.number(f"{folder}/{'memory.current' if version == 2 else 'memory.usage_in_bytes'}")
    yield Reading("cgroup", "memory_used", float(used), "B", "sampled")
    limit = memory_limit(machine)
    if limit["limit"] == "bytes":
        yield Reading("cgroup", "memory_limit", float(limit["bytes"]), "B", "sampled")


def resident(machine: Machine, pid: int) -> int | None:
    """Resident bytes of a process; None if it is gone."""
    try:
        return int(machine.text(f"/proc/{pid}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (Unread, ValueError, IndexError):
        return None


def proportional(machine: Machine, pid: int) -> int | None:
    """Proportional bytes of a process; None if it is gone, belongs to another user, or the kernel is older than 4.14."""
    try:
        found = _PSS.search(machine.text(f"/proc/{pid}/smaps_rollup"))
    except Unread:
        return None
    return int(found[1]) * 1024 if found else None


def of_processes(machine: Machine, groups: Mapping[str, Sequence[int]]) -> Iterator[Reading]:
    """The sums of every group of processes. No proportional sum if one of the living processes does not show its own."""
    for name, pids in groups.items():
        sizes = {pid: size for pid in dict.fromkeys(pids) if (size := resident(machine, pid)) is not None}
        if not sizes:
            continue
        yield Reading(name, RESIDENT, float(sum(sizes.values())), "B", "sampled")
        parts = [proportional(machine, pid) for pid, size in sizes.items() if size]  # a zombie has no pages
        if parts and None not in parts:
            yield Reading(name, PROPORTIONAL, float(sum(part or 0 for part in parts)), "B", "sampled")
