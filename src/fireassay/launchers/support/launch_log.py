"""How is launch output of any length kept: the first half, the last half, no secrets?

Standard library only: the supervisor imports it at startup.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAX_LINE_LENGTH = 1 << 16


class Log:
    """The launch's output without secrets; the middle is dropped where it is too long.

    The first half goes into the log itself, the rest alternates between two files (`.tail`, `.older`): memory
    and disk stay bounded however much is printed, and after a crash the three files still hold the two halves.
    """

    def __init__(self, path: Path, limit: int, redact: Callable[[bytes], bytes]) -> None:
        self.path, self.half, self.redact = path, max(limit // 2, 1), redact
        self.bytes = self.lines = 0
        self.error: str | None = None
        self._head_left = self.half
        self._tail_bytes = 0
        self._rest = b""  # an unfinished line
        self._file = self._open(path)

    def feed(self, data: bytes) -> None:
        """Add output; never raises on disk errors."""
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        data = self._rest + data
        cut = data.rfind(b"\n") + 1
        if len(data) - cut > _MAX_LINE_LENGTH:
            cut = len(data)  # overlong line: a secret across this cut would be visible only in part
        self._rest = data[cut:]
        self._write(self.redact(data[:cut]) if cut else b"")

    def close(self) -> None:
        """Write buffered output and join the three files."""
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
        """Start the tail, or rotate the two tail files."""
        tail = tail_of(self.path)
        empty = self._tail_bytes == 0
        if not empty and self._tail_bytes < self.half:
            return
        try:
            if self._file is not None:
                self._file.close()
            if not empty:
                os.replace(tail, older_of(self.path))
        except OSError as error:
            self.error = self.error or error.strerror
        self._tail_bytes = 0
        self._file = self._open(tail)

    def _put(self, data: bytes) -> None:
        try:
            while data and self._file is not None:
                data = data[self._file.write(data) :]
        except OSError as error:  # a full disk: keep draining, or the script would block
            self.error = self.error or error.strerror


def appending(path: Path) -> Any:
    """Open a log for appending; a symbolic link is an error, because records may come from untrusted sources."""
    return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "ab", buffering=0)


def tail_of(log: Path) -> Path:
    """File for the newest output once the first half is full."""
    return log.with_name(log.name + ".tail")


def older_of(log: Path) -> Path:
    """The tail's previous rotation."""
    return log.with_name(log.name + ".older")


def join(log: Path, half: int) -> None:
    """Append the last `half` bytes of the two tail files to the log and remove them. Also repairs a log after a crash.

    Raises:
        OSError: writing failed; the three files are kept.
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
