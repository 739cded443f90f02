"""How is the output of a launch kept, however long it is: the first half, the last half, no secrets?

Standard library only: the supervisor takes it in at its start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LONGEST_LINE = 1 << 16


class Log:
    """The launch's output, without its middle where it is too long, and without secrets.

    The first half goes into the log itself, what follows into two files that take turns (`.tail`, `.older`): memory
    and disk stay bounded however much is printed, and after a crash the three files still hold what matters.
    """

    def __init__(self, path: Path, limit: int, redact: Callable[[bytes], bytes]) -> None:
        self.path, self.half, self.redact = path, max(limit // 2, 1), redact
        self.bytes = self.lines = 0
        self.error: str | None = None
        self._head_left = self.half
        self._tail_bytes = 0
        self._rest = b""  # the beginning of a line whose end has not come yet
        self._file = self._open(path)

    def feed(self, data: bytes) -> None:
        """Take output in; never raises, whatever the disk says."""
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        data = self._rest + data
        cut = data.rfind(b"\n") + 1
        if len(data) - cut > _LONGEST_LINE:
            cut = len(data)  # a line without end; a secret across this cut would be seen only in part
        self._rest = data[cut:]
        self._write(self.redact(data[:cut]) if cut else b"")

    def close(self) -> None:
        """Write what is held back and join the three files."""
        rest, self._rest = self._rest, b""
        self._write(self.redact(rest) if rest else b"")
        try:
            if self._file is not None:
                self._file.close()
            join(self.path, self.half)
        except OSError as error:
            self.error = self.error or error.strerror

    def _open(self, path: Path) -> Any:
        try:
            return appending(path)
        except OSError as error:
            self.error = self.error or error.strerror
            return None

    def _write(self, data: bytes) -> None:
        head, data = data[: self._head_left], data[self._head_left :]
        self._head_left -= len(head)
        self._put(head)
        while data:
            self._turn()
            part, data = data[: self.half - self._tail_bytes], data[self.half - self._tail_bytes :]
            self._tail_bytes += len(part)
            self._put(part)

    def _turn(self) -> None:
        """Begin the tail, or the next turn of the two tail files."""
        tail = tail_of(self.path)
        begins = self._tail_bytes == 0
        if not begins and self._tail_bytes < self.half:
            return
        try:
            if self._file is not None:
                self._file.close()
            if not begins:
                os.replace(tail, older_of(self.path))
        except OSError as error:
            self.error = self.error or error.strerror
        self._tail_bytes = 0
        self._file = self._open(tail)

    def _put(self, data: bytes) -> None:
        try:
            while data and self._file is not None:
                data = data[self._file.write(data) :]
        except OSError as error:  # a full disk: go on draining, or the script would block
            self.error = self.error or error.strerror


def appending(path: Path) -> Any:
    """A log to be added to; a link in its place is an error, for a record may have come from anybody."""
    return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "ab", buffering=0)


def tail_of(log: Path) -> Path:
    """Where the newest output goes once the first half is full."""
    return log.with_name(log.name + ".tail")


def older_of(log: Path) -> Path:
    """The previous turn of the tail."""
    return log.with_name(log.name + ".older")


def join(log: Path, half: int) -> None:
    """Append the last `half` bytes of the two tail files to the log and remove them. Also mends a log after a crash.

    Raises:
        OSError: the disk says no; the three files are still there.
    """
    tail, older = tail_of(log), older_of(log)
    parts = [path for path in (older, tail) if path.exists()]
    if not parts:
        return
    kept = b"".join(path.read_bytes() for path in parts)[-half:]
    note = b"\n[assay: the middle of the output is left out here; limits.log_mib says how much is kept]\n"
    with appending(log) as file:
        if older.exists():
            file.write(note)
            kept = kept[kept.find(b"\n") + 1 :]
        file.write(kept)
    for path in parts:
        path.unlink()
