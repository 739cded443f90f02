"""What if standard output or error is closed (`>&-`), or its disk is full (`> /dev/full`)?

A closed stream was closed on purpose: what is written to it is dropped, and the exit code still says the verdict. Its descriptor is
taken, lest a record's file be opened under the number that child processes print to. A disk without space loses the answer, which is an
error; on standard error it cannot be told to anybody.
"""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer

LAST = 2  # the descriptor of standard error


class _Raw(io.FileIO):
    """A descriptor that, once it cannot be written, drops what is left, so that the interpreter does not fail again at exit."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader is gone: no error, see `fireassay.exit_codes`
            raise
        except OSError as error:
            descriptor = self.fileno()
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            if descriptor == LAST:
                return memoryview(data).nbytes
            from fireassay.errors import RecordError

            raise RecordError(f"cannot write to standard output: {error.strerror}. Choose another file or disk.") from error


def guard() -> None:
    """Open what is closed and watch what is open. For the process of the command line only."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= LAST:  # the lowest free descriptor
        os.set_inheritable(lowest, True)
    os.close(lowest)
    sys.stdout, sys.stderr = _watched(sys.stdout, 1), _watched(sys.stderr, LAST)


def _watched(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is not None and not isinstance(stream, io.TextIOWrapper):  # replaced by somebody else, who knows what for
        return stream
    raw = _Raw(descriptor, "w", closefd=False)
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace")
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
