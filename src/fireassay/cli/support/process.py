"""What if assay is stopped, standard output or error is closed (`>&-`), or its disk is full (`> /dev/full`)?

Stopped, it reports in one sentence what stopped it, and whether there is a record.  During launches the runners handle signals
(`runners/experiment/context.py`).  Before and after, SIGTERM and SIGHUP end a verb like Ctrl-C, with exit code 130, instead of killing it
silently.  A signal ignored when assay started (nohup) stays ignored.

A closed stream was closed on purpose: what is written to it is dropped, and the exit code still says the verdict. Its descriptor is
taken, lest a record's file be opened under the number that child processes print to. A disk without space loses the answer, which is an
error; on standard error it cannot be told to anybody.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from _typeshed import ReadableBuffer

REASONS = {"SIGTERM": "stopped by a termination signal", "SIGHUP": "stopped by the end of the terminal"}


LAST = 2  # the descriptor of standard error


class Stop:
    """The reason for stopping: Ctrl-C, unless a signal arrived."""

    def __init__(self) -> None:
        self.why = "interrupted"
        self._before = len(_begun())

    def note(self, number: int, _: object) -> None:
        """Note the signal that arrived."""
        self.why = REASONS[signal.Signals(number).name]
        raise KeyboardInterrupt

    def sentence(self, *, measures: bool) -> str:
        """The closing message.  `measures`: the verb makes records."""
        kept = [path for path in _begun()[self._before :] if path.exists()]
        if kept:
            return f"{self.why}; the record is kept: {', '.join(map(str, kept))}"
        return f"{self.why}: nothing was measured; no record was written" if measures else self.why


def _begun() -> Sequence[Path]:
    """The records made by this process."""
    folder = sys.modules.get("fireassay.record.folder")  # not loaded: there can be none
    return folder.begun if folder is not None else ()


@contextmanager
def heard() -> Iterator[Stop]:
    """Handle signals during the body; outside the main thread the caller only gets Ctrl-C."""
    stop, former = Stop(), {}
    for name in REASONS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            try:
                former[number] = signal.signal(number, stop.note)
            except ValueError:  # not the main thread
                break
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


# ---- streams ---------------------------------------------------------------------------------------------------------


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
