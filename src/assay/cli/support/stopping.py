"""What does somebody learn who stops assay?  One sentence: by what it was stopped, and whether there is a record.

While launches are made the runners listen themselves (`runners/signals.py`).  Before and after, SIGTERM and SIGHUP end a verb as Ctrl-C
does, with exit code 130, instead of killing it without a word.  A signal that was ignored when assay started (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False  # read by type checkers as true; see assay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

REASONS = {"SIGTERM": "stopped by a termination signal", "SIGHUP": "stopped by the end of the terminal"}


class Stop:
    """By what it was stopped; by Ctrl-C, unless a signal said so."""

    def __init__(self) -> None:
        self.why = "interrupted"
        self._before = len(_begun())

    def note(self, number: int, _: object) -> None:
        """A signal has come."""
        self.why = REASONS[signal.Signals(number).name]
        raise KeyboardInterrupt

    def sentence(self, *, measures: bool) -> str:
        """What is said at the end. `measures`: of a verb that makes records."""
        kept = [path for path in _begun()[self._before :] if path.exists()]
        if kept:
            return f"{self.why}; the record is kept: {', '.join(map(str, kept))}"
        return f"{self.why}: nothing was measured; no record was written" if measures else self.why


def _begun() -> Sequence[Path]:
    """The records that this process made."""
    folder = sys.modules.get("assay.record.folder")  # not loaded: there can be none
    return folder.begun if folder is not None else ()


@contextmanager
def heard() -> Iterator[Stop]:
    """Listen while the body runs; outside the main thread only Ctrl-C is left to the caller."""
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
