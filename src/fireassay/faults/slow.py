"""How does the system behave when a worker or replica slows down?

All its processes together get a share of one processor (CFS quota): assay moves them into a control group of its own (cgroup v1:
cpu.cfs_quota_us; v2: cpu.max) and back afterwards.  The period is as short as the quota allows (the kernel's minimum quota is 1 ms),
so the replica slows down instead of stuttering.  A share of 0.1 is 1 ms in every 10 ms.
"""

from __future__ import annotations

import errno
import itertools
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from fireassay.errors import EnvironmentLacks
from fireassay.faults.support.base import Fault, Struck, Undo, Victim, of_kind
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target

ROOT = Path("/")  # root of /proc and /sys; tests replace it
MIN_QUOTA_US, MIN_US, MAX_US = 1000, 10_000, 1_000_000  # kernel/sched/core.c: quota >= 1 ms, period <= 1 s
LEFT_S = 60.0  # a younger group may belong to another container, whose processes are invisible here
REMOVE_S = 5.0  # how long to retry removing a group
MAX_LOOKS = 20  # passes over processes that start while others are moved
REMEDY = (
    "Run assay as root, or in a delegated group of its own (cgroup v2: systemd-run --user --scope -p Delegate=yes ...), "
    'or use kind = "stop" or "delay".'
)
_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Group:
    """A control group with a quota, created by assay."""

    path: Path
    version: int

    def limit(self, share: float) -> None:
        """Limit all its processes together to a share of one processor."""
        quota, period = quota_us(share)
        if self.version == 1:
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.path / "cpu.max").write_text(f"{quota} {period}")

    def free(self) -> None:
        """Remove the limit."""
        if self.version == 1:
            (self.path / "cpu.cfs_quota_us").write_text("-1")
        else:
            (self.path / "cpu.max").write_text("max")

    def pids(self) -> list[int]:
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def remove(self, home: Path) -> None:
        """Move the processes back and remove the group; retry while exiting or newly forked processes keep it busy."""
        last = time.monotonic() + REMOVE_S
        while True:
            for pid in self.pids():
                with suppress(ProcessLookupError):
                    move(pid, home)
            try:
                return self.path.rmdir()
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > last:
                    raise
            time.sleep(0.01)


def quota_us(share: float) -> tuple[int, int]:
    """Quota and period in microseconds: the shortest period for which the kernel accepts the share as a quota."""
    period = min(MAX_US, max(MIN_US, round(MIN_QUOTA_US / share)))
    return max(MIN_QUOTA_US, round(share * period)), period


def move(pid: int, group: Path) -> None:
    """Move a process, with all its threads, into a group."""
    (group / "cgroup.procs").write_text(str(pid))


def home_of(pid: int | str = "self") -> tuple[Path, int]:
    """Folder of the group that controls a process's CPU time, and the version of its hierarchy.

    Raises:
        EnvironmentLacks: there is no CPU controller.
    """
    mounts = [line.split() for line in _text("proc/self/mounts").splitlines()]
    groups = [line.split(":", 2) for line in _text(f"proc/{pid}/cgroup").splitlines()]
    for _, controllers, path in groups:
        for mount in mounts:
            if "cpu" in controllers.split(",") and mount[2] == "cgroup" and "cpu" in mount[3].split(","):
                return _inside(mount[1], path), 1
    for _, controllers, path in groups:
        for mount in mounts:
            if not controllers and mount[2] == "cgroup2":
                return _inside(mount[1], path), 2
    raise EnvironmentLacks(f"this machine has no control groups for processor time (cgroup). {REMEDY}")


def _inside(mount: str, path: str) -> Path:
    top = ROOT / mount.lstrip("/")
    folder = top / path.lstrip("/")
    return folder if folder.is_dir() else top  # in a container the path may be the host's


def make(home: Path, version: int) -> Group:
    """Create a group. Raises EnvironmentLacks: this user may not create one here."""
    reason = "no parent group hands the cpu controller on"
    for parent in _parents(home, version):
        _sweep(parent)
        path = parent / f"assay-{os.getpid()}-{next(_numbers)}"
        try:
            path.mkdir()
        except OSError as error:
            reason = f"{path}: {error.strerror}"
            continue
        return Group(path=path, version=version)
    raise EnvironmentLacks(f"no control group could be created to slow a replica: {reason}. {REMEDY}")


def _sweep(parent: Path) -> None:
    """Remove empty groups left by an assay that was killed."""
    for leftover in parent.glob("assay-*-*"):
        pid = leftover.name.split("-")[1]
        with suppress(OSError):  # it has processes, or another assay removed it first
            expired = time.time() - leftover.stat().st_mtime > LEFT_S
            if expired and pid.isdigit() and not (ROOT / "proc" / pid).exists():
                leftover.rmdir()


def _parents(home: Path, version: int) -> list[Path]:
    """Folders in which a group may be created. In v2 a group with processes cannot delegate controllers: create a sibling."""
    if version == 1:
        return [home]
    top = ROOT / "sys/fs/cgroup"
    above = [folder for folder in (home, *home.parents) if folder == top or top in folder.parents]
    return [folder for folder in above if "cpu" in _text_of(folder / "cgroup.subtree_control").split()]


def _text(path: str) -> str:
    return _text_of(ROOT / path)


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


class Keys(FaultSpec):
    """Keys of this fault."""

    share: float = Field(0.1, gt=0.0, le=1.0, description="the remaining share of a processor.")


def check_training(asked: Keys) -> None:
    """Check that a group can be created. Raises EnvironmentLacks: it cannot; the message says what to do."""
    home, version = home_of()
    group = make(home, version)
    try:
        group.limit(asked.share)
    except OSError as error:
        raise EnvironmentLacks(f"no quota can be set in {group.path}: {error.strerror}. {REMEDY}") from None
    finally:
        group.path.rmdir()


def check(asked: Keys, target: Target) -> None:
    """`check_training`, for any engine."""
    check_training(asked)


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Move the worker and its children into the group; the undo moves them back.

    Raises:
        ProcessLookupError: the worker has already exited.
        OSError: this user may not move them.
    """
    victim.family()
    try:
        return limited(victim.family, home_of(victim.pid), of_kind(Keys, fault).share)
    except EnvironmentLacks as error:
        raise OSError(str(error)) from None


def on_load(struck: Struck, asked: Keys) -> Undo:
    """Move the replica's processes into the group; the undo moves them back.

    Raises:
        ProcessLookupError: the replica has already exited.
        OSError: this user may not move them.
        EnvironmentLacks: the group could not be created.
    """
    replicas = struck.own
    pids = replicas.pids(struck.replica)
    if not pids:
        raise ProcessLookupError(f"no process of replica {struck.replica} is running")
    return limited(lambda: replicas.pids(struck.replica), home_of(pids[0]), asked.share)


def limited(pids: Callable[[], Iterable[int]], where: tuple[Path, int], share: float) -> Undo:
    """Move processes, and those they start meanwhile, into a new group; the undo moves them back."""
    home, version = where
    group = make(home, version)

    def undo() -> None:
        group.free()
        group.remove(home)

    try:
        group.limit(share)
        for _ in range(MAX_LOOKS):
            if not (outside := set(pids()) - set(group.pids())):
                break
            for pid in outside:
                with suppress(ProcessLookupError):
                    move(pid, group.path)
    except OSError:
        undo()
        raise
    return undo


FAULT = Fault(
    name="slow", keys=Keys, strike=strike, check_training=check_training, on_load=on_load, needs="pids", check=check, ends_worker=False
)
