"""Which processes are the workers of a running job, and what do the kernel's counters say of their main threads?

A worker has RANK in its environment, as torchrun sets it, and is no child of another worker (a loader's helper inherits the variables). Where
nobody has it, a worker is a Python with the rank of srun or mpirun, as scripts read it that need no torchrun: their shells have it too. A
process without ranks below it is watched itself, as rank 0 of 1.
Source: proc(5); Documentation/scheduler/sched-stats.rst (schedstat: time on a processor, time waiting for one).
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_SET_PDEATHSIG: Final = 1  # linux/prctl.h
# Rank and number of workers: of torchrun; and of engines, whose shells and wrappers have them too.
_TORCHRUN: Final = ("RANK", "WORLD_SIZE")
_ENGINES: Final = (("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))
# Numbers of nanosleep and clock_nanosleep.
_SLEEPS: Final = {"x86_64": {35, 230}, "aarch64": {101, 115}}


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process of the job."""

    pid: int
    rank: int
    workers: int
    host: str
    launch: str = ""  # its launch folder, if assay's hooks are in it


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A worker's main thread at one moment; times are running totals."""

    rank: int
    ns: int
    run_ns: int
    queue_ns: int  # runnable, without a processor
    state: str  # R, S, D, ...
    blocked_in: str  # sleep, disk, or "" for anything else
    faults: int
    read_bytes: int | None
    written_bytes: int | None


def workers_below(pids: Sequence[int], host: str) -> tuple[Worker, ...]:
    """The workers among these processes and all their descendants, by rank."""
    children = _children()
    found = _ranked(pids, children, _TORCHRUN, host)
    for names in _ENGINES:
        found = found or _ranked(pids, children, names, host)
    if not found and len(pids) == 1 and (PROC / str(pids[0])).exists():
        found[pids[0]] = Worker(pid=pids[0], rank=0, workers=1, host=host)
    return tuple(sorted(found.values(), key=lambda worker: worker.rank))


def _ranked(pids: Sequence[int], children: dict[int, list[int]], names: tuple[str, str], host: str) -> dict[int, Worker]:
    """The topmost processes that have such a rank."""
    parents = {child: parent for parent, below in children.items() for child in below}
    waiting, found, seen = list(pids), {}, set[int]()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        variables = environment(pid)
        if not _works(pid, variables, names):
            waiting += children.get(pid, [])
        elif not _works(parent := parents.get(pid, 0), environment(parent), names):  # else it is a helper, which inherits the variables
            found[pid] = _worker(pid, variables, names, host)
    return found


def _works(pid: int, variables: dict[str, str], names: tuple[str, str]) -> bool:
    """Whether it is a worker or a worker's child by these names. A batch script has Slurm's rank of its node's first task, but no step."""
    if names == _TORCHRUN:
        return names[0] in variables
    step = names[0] != "SLURM_PROCID" or variables.get("SLURM_STEP_ID", "").isdecimal()
    return variables.get(names[0], "").isdecimal() and step and variables.get("FIREASSAY_ATTACH") != "0" and _is_python(pid)


def _is_python(pid: int) -> bool:
    with suppress(OSError):
        return (PROC / str(pid) / "exe").readlink().name.startswith(("python", "pypy"))
    return False


def environment(pid: int) -> dict[str, str]:
    """A process's variables at its start; empty if they cannot be read."""
    try:
        content = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition("=") for item in content.decode("utf-8", "replace").split("\0"))
    return {name: value for name, _, value in pairs if name}


def _worker(pid: int, variables: dict[str, str], names: tuple[str, str], host: str) -> Worker:
    def number(name: str, default: int) -> int:
        text = variables.get(name, "")
        return int(text) if text.isdecimal() else default

    return Worker(
        pid=pid, rank=number(names[0], 0), workers=number(names[1], 1), host=host, launch=variables.get("FIREASSAY_LAUNCH_DIR", "")
    )


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    return children


def read(worker: Worker, now_ns: int) -> Reading | None:
    """The counters of its main thread; None once it has ended."""
    folder = PROC / str(worker.pid)
    thread = folder / "task" / str(worker.pid)
    try:
        run, queue, _ = (thread / "schedstat").read_text().split()
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    amounts = dict(_amounts(folder / "io"))
    return Reading(
        rank=worker.rank,
        ns=now_ns,
        run_ns=int(run),
        queue_ns=int(queue),
        state=fields[0],
        blocked_in="disk" if fields[0] == "D" else "sleep" if fields[0] == "S" and _sleeps(thread / "syscall") else "",
        faults=int(fields[9]),
        read_bytes=amounts.get("read_bytes"),
        written_bytes=amounts.get("write_bytes"),
    )


def _amounts(file: Path) -> Iterator[tuple[str, int]]:
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, value = line.partition(": ")
            yield name, int(value)


def _sleeps(file: Path) -> bool:
    """True if the thread sleeps by its own wish; false if it does not, or may not be asked."""
    with suppress(OSError, ValueError, IndexError):
        return int(file.read_text().split()[0]) in _SLEEPS.get(os.uname().machine, ())
    return False


def ends_with(parent: int, number: int) -> Callable[[], None]:
    """For `preexec_fn`: the kernel sends this signal to the child when its parent ends, even by SIGKILL."""
    libc = ctypes.CDLL(None)  # loaded before the fork

    def before_exec() -> None:
        libc.prctl(_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died before
            os.kill(os.getpid(), signal.SIGKILL)

    return before_exec
