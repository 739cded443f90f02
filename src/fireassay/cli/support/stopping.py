"""What does assay report when it is stopped?

One sentence: what stopped it, and whether there is a record.  During launches the runners handle signals (`runners/experiment/signals.py`).
Before and after, SIGTERM and SIGHUP end a verb like Ctrl-C, with exit code 130, instead of killing it silently.  A signal ignored
when assay started (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

REASONS = {"SIGTERM": "stopped by a termination signal", "SIGHUP": "stopped by the end of the terminal"}


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
