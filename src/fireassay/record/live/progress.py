"""How far is a worker right now?  80 bytes per rank, mapped into the worker and the coordinator.

The worker stores into the mapping at every step (no system call); the coordinator reads it for the live display, to
time faults, and to learn that a worker could not write its record.  It is not part of the record.
Every field is an aligned 8-byte integer, so that reads are not torn.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

_LAYOUT = struct.Struct("<10q")
SIZE = _LAYOUT.size
MAGIC = 0x4153534159303033  # "ASSAY003"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One rank's state as last stored by the worker."""

    pid: int
    incarnation: int
    steps: int  # number of the last finished step + 1; 0 before the first
    checkpoints: int  # saved so far by this rank's job, in this incarnation
    checkpoint_step: int  # steps finished when the last checkpoint was saved; -1 for none
    updated_ns: int  # monotonic time of the last store
    errno: int  # why the worker could not write its record; 0 for no error
    saving: bool = False  # a checkpoint is being saved
    node: int = 0  # `node_of` its mark: a pid alone may exist on several nodes


def node_of(mark: str) -> int:
    """The number by which a node knows the workers that were started with this mark, when they are gone too."""
    return int.from_bytes(hashlib.blake2b(mark.encode(), digest_size=8).digest(), "little", signed=True)


class ProgressWriter:
    """The worker's side. Stores fields one by one, without a system call."""

    __slots__ = ("_map", "_view")

    def __init__(self, path: Path, *, pid: int, incarnation: int, node: int = 0) -> None:
        """Create a new file. Raises OSError: the disk is full or not writable."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # A new file: an earlier incarnation that still runs would die of SIGBUS if its file were truncated.
        fresh = path.with_name(f"{path.name}.{pid}.tmp")
        with fresh.open("w+b") as file:
            file.write(bytes(SIZE))  # allocates the space now; storing into a hole on a full disk would raise SIGBUS
            file.flush()
            self._map = mmap.mmap(file.fileno(), SIZE)
        fresh.replace(path)
        self._view = memoryview(self._map).cast("q")
        self._view[1], self._view[2], self._view[3] = pid, incarnation, 0
        self._view[4], self._view[5], self._view[6], self._view[7], self._view[8] = 0, -1, 0, 0, 0
        self._view[9] = node
        self._view[0] = MAGIC

    def step(self, steps: int, now_ns: int) -> None:
        """Store the number of finished steps."""
        self._view[3] = steps
        self._view[6] = now_ns

    def checkpoint(self, steps: int) -> None:
        """Store that a checkpoint was saved after `steps` steps."""
        self._view[5] = steps
        self._view[4] += 1

    def saving(self, begun: bool) -> None:
        """Store whether a checkpoint is being saved."""
        self._view[8] = int(begun)

    def error(self, number: int) -> None:
        """Store why the record cannot be written (an errno)."""
        self._view[7] = number


def read_progress(path: Path) -> Progress | None:
    """The rank's state; None before the worker has started, or if the file is foreign."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if len(raw) != SIZE:
        return None
    magic, pid, incarnation, steps, checkpoints, checkpoint_step, updated_ns, errno, saving, node = _LAYOUT.unpack(raw)
    if magic != MAGIC:
        return None
    return Progress(
        pid=pid,
        incarnation=incarnation,
        steps=steps,
        checkpoints=checkpoints,
        checkpoint_step=checkpoint_step,
        updated_ns=updated_ns,
        errno=errno,
        saving=bool(saving),
        node=node,
    )
