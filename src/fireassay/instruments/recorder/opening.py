"""How does a recording begin and end with its process, however that ends?"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.restored_step import States
from fireassay.instruments.recorder.self_cost import cost_per_step
from fireassay.instruments.recorder.sink import LaunchSink, MemorySink, identity_from
from fireassay.instruments.recorder.step_limit import limit_from

PATIENCE_S: Final = 2.0  # time limit for closing the recording when a script calls `os._exit`


def open_recorder(folder: str, environ: Mapping[str, str], *, on_close: Callable[[], None]) -> Recorder:
    """Open the recording probe of this worker.

    Raises:
        OSError: the launch's folder is not writable.
        ValueError: an environment variable is not a number.
    """
    identity = identity_from(environ)
    cost, steps = cost_per_step(Recorder(identity, MemorySink()))
    sink = LaunchSink(Path(folder), identity, flush_s=float(environ.get("FIREASSAY_FLUSH_S") or 0.5))
    recorder = Recorder(identity, sink, on_close=on_close)
    if environ.get("FIREASSAY_RESTARTS") == "1":
        recorder.model.states = States(Path(folder), identity.rank, identity.incarnation)
    recorder.counts_work(environ)
    recorder.limit = limit_from(environ, Path(folder), recorder, identity.incarnation)
    recorder.begin(cost, steps)
    recorder.launch.compare_clocks(Path(folder), environ)
    atexit.register(_end_at_exit, recorder)
    os._exit = _ending_first(recorder, os._exit)  # type: ignore[assignment]
    return recorder


def _end_at_exit(recorder: Recorder) -> None:
    """The process exits; record an uncaught exception by name."""
    uncaught = getattr(sys, "last_type", None)
    recorder.end(uncaught.__name__ if uncaught is not None else None)


def _ending_first(recorder: Recorder, exits: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """End the recording before `os._exit`, in a separate thread with a timeout.

    `os._exit` skips exit handlers; scripts use it to avoid waiting for an engine's threads.
    """
    pid = os.getpid()

    @functools.wraps(exits)
    def _exit(status: int) -> NoReturn:
        if recorder.active and os.getpid() == pid:  # ignore the exit of a forked child
            with suppress(Exception):
                ending = threading.Thread(target=_end_quickly, args=(recorder, status), daemon=True)
                ending.start()
                ending.join(PATIENCE_S)
        exits(status)

    return _exit


def _end_quickly(recorder: Recorder, status: int) -> None:
    hooks = sys.modules.get("fireassay.instruments.attach")
    attached = hooks.current() if hooks is not None else None
    if attached is not None:
        attached.close()
    recorder.end(f"os._exit({status})" if status else None)
