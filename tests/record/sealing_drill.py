"""Interrupts the sealing of a record at each of its file operations; run as a program by test_sealing.

    python -m tests.record.sealing_drill FOLDER kill|fail|fail-on

kill: SIGKILL.  fail: permission denied, once.  fail-on: the disk is full from there on.

One line of JSON per interrupted operation: its name, how `finish` ended, and how the record read before and after it
was reopened and finished.  Python's audit events announce every open, rename, mkdir and removal; fsync is wrapped.
A kill at an fsync first cuts the file in half, as a crash before the data reached the disk may.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import sys
from pathlib import Path
from typing import Any

# Imported before the hook is set, so that only the record's own files are counted.
import polars  # noqa: F401
import psutil  # noqa: F401
import pyarrow.parquet  # noqa: F401

from fireassay.errors import RecordError
from fireassay.record.folder import RecordFolder, reopen
from fireassay.record.manifest import myself, release
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from tests.record.making import unfinished

WATCHED = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.scandir", "os.listdir"}


class Interruption:
    """Counts the operations below a folder and strikes at number `at`."""

    def __init__(self, folder: Path, mode: str, at: int) -> None:
        self.folder, self.mode, self.at = str(folder), mode, at
        self.count = 0
        self.active = False
        self.struck = ""

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.active and event in WATCHED and self._ours(event, arguments):
            self.step(f"{event} {str(arguments[0]).removeprefix(self.folder)}", None)

    def _ours(self, event: str, arguments: tuple[Any, ...]) -> bool:
        first = arguments[0] if arguments else None
        if isinstance(first, str | os.PathLike):
            inside = os.fspath(first).startswith(self.folder)
            return inside or (event in ("os.remove", "os.rmdir") and arguments[-1] != -1)
        return False

    def step(self, name: str, descriptor: int | None) -> None:
        self.count += 1
        strikes = self.count >= self.at if self.mode == "fail-on" else self.count == self.at
        if not strikes:
            return
        self.struck = self.struck or name
        if self.mode == "kill":
            self._die(descriptor)
        number = errno.EACCES if self.mode == "fail" else errno.ENOSPC
        raise OSError(number, os.strerror(number))

    def _die(self, descriptor: int | None) -> None:
        self.active = False
        if descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.truncate(f"/proc/self/fd/{descriptor}", os.fstat(descriptor).st_size // 2)
        Path(f"{self.folder}.struck").write_text(self.struck)
        os.kill(os.getpid(), signal.SIGKILL)


def child(path: Path, folder: RecordFolder, mode: str, at: int) -> str:
    """Seal with an interruption. Gives how it ended."""
    interruption = Interruption(path, mode, at)
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if interruption.active:
            interruption.step("fsync", descriptor)
        real(descriptor)

    os.fsync = fsync
    sys.addaudithook(interruption.hook)
    interruption.active = True
    try:
        folder.finish("complete")
        ended = "sealed"
    except RecordError as error:
        ended = f"RecordError: {error}"
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"
    interruption.active = False
    Path(f"{path}.struck").write_text(interruption.struck)
    return ended


def read(path: Path) -> dict[str, Any]:
    """What a reader sees."""
    record = open_record(path)
    return {"state": record.state, "sealed": record.sealed, "rows": record.table("steps").height + record.table("samples").height}


def drill(original: RecordFolder, path: Path, mode: str, at: int) -> dict[str, Any]:
    """One interruption of a fresh copy."""
    shutil.copytree(original.path, path)
    manifest = original.manifest
    pipe_out, pipe_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        release(original.path)
        folder = RecordFolder(path, original.experiment, manifest | {"coordinator": myself()})
        folder._store(folder.manifest)
        os.write(pipe_in, child(path, folder, mode, at).encode())
        os._exit(0)
    os.close(pipe_in)
    with os.fdopen(pipe_out) as pipe:
        ended = pipe.read()
    os.waitpid(pid, 0)
    struck_file = Path(f"{path}.struck")
    result = {"at": at, "struck": struck_file.read_text(), "ended": ended or "killed", "before": read(path)}
    if result["struck"]:
        reopen(path).finish("complete")
    result |= {"after": read(path), "problems": verify(path), "left": sorted(entry.name for entry in path.iterdir())}
    shutil.rmtree(path)
    struck_file.unlink()
    return result


def main() -> None:
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    original = unfinished(folder, launches=1, steps=3)
    at, struck = 1, True
    while struck:
        result = drill(original, folder / f"copy {at}", mode, at)
        struck = bool(result["struck"])
        print(json.dumps(result), flush=True)
        at += 1


if __name__ == "__main__":
    main()
