"""How is an experiment stopped without interrupting a write?  Signals are noted and handled between polls.

The first SIGINT, SIGTERM or SIGHUP requests a clean end, the second an immediate one, the third raises
KeyboardInterrupt wherever the program is.  A long computation that cannot poll, and writes nothing, is left at once (`at_once`).
A signal ignored when assay started (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from fireassay.errors import Interrupted

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "a termination signal", signal.SIGHUP: "the end of the terminal"}


@dataclass
class StopRequest:
    """How often a stop was requested, and by which signal."""

    count: int = 0
    reason: str = ""
    computing: bool = False

    def note(self, number: int, _frame: FrameType | None = None) -> None:
        """Signal handler: count the request."""
        self.count += 1
        self.reason = self.reason or SIGNALS[signal.Signals(number)]
        if self.computing:
            self.computing = False
            raise Interrupted(self.reason)
        if self.count > 2:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Leave the body at the first signal. It must write nothing: a write would be cut.

        Raises:
            Interrupted: a stop was requested, now or before.
        """
        self.computing = True
        try:
            if self.count:
                raise Interrupted(self.reason)
            yield
        finally:
            self.computing = False


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Note stop signals while the body runs. Outside the main thread, no handlers are installed."""
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, stop.note) for number in handled}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
