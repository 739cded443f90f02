"""How does a worker's recording begin with its process, and end with it, however it ends?"""

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

from assay.instruments.recorder.recorder import Recorder
from assay.instruments.recorder.restored_step import States
from assay.instruments.recorder.self_cost import cost_per_step
from assay.instruments.recorder.sink import LaunchSink, MemorySink, identity_from
from assay.instruments.recorder.step_limit import limit_from

PATIENCE_S: Final = 2.0  # with the end of the recording, where a script ends the process at once


def open_recorder(folder: str, environ: Mapping[str, str], *, on_close: Callable[[], None]) -> Recorder:
    """The recording probe of this worker.

    Raises:
        OSError: the launch's folder cannot be written.
        ValueError: a variable of the environment is not a number.
    """
    identity = identity_from(environ)
    cost, steps = cost_per_step(Recorder(identity, MemorySink()))
    sink = LaunchSink(Path(folder), identity, flush_s=float(environ.get("ASSAY_FLUSH_S") or 0.5))
    recorder = Recorder(identity, sink, on_close=on_close)
    if environ.get("ASSAY_RESTARTS") == "1":
        recorder.states = States(Path(folder), identity.rank, identity.incarnation)
    recorder.counts_work(environ)
    recorder.limit = limit_from(environ, Path(folder), recorder, identity.incarnation)
    recorder.begin(cost, steps)
    recorder.looks_at_clocks(Path(folder), environ)
    atexit.register(_end_at_exit, recorder)
    os._exit = _ending_first(recorder, os._exit)  # type: ignore[assignment]
    return recorder


def _end_at_exit(recorder: Recorder) -> None:
    """The process ends; an exception that nobody caught is named."""
    uncaught = getattr(sys, "last_type", None)
    recorder._end(uncaught.__name__ if uncaught is not None else None)


def _ending_first(recorder: Recorder, exits: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """`os._exit` runs nothing that was registered, and scripts end by it so as not to wait for an engine's threads: end the recording
    before, in a thread of its own, for which nobody waits for long."""
    pid = os.getpid()

    @functools.wraps(exits)
    def _exit(status: int) -> NoReturn:
        if recorder.active and os.getpid() == pid:  # a forked child's end is not this process's
            with suppress(Exception):
                ending = threading.Thread(target=_end_quickly, args=(recorder, status), daemon=True)
                ending.start()
                ending.join(PATIENCE_S)
        exits(status)

    return _exit


def _end_quickly(recorder: Recorder, status: int) -> None:
    hooks = sys.modules.get("assay.instruments.attach")
    attached = hooks.current() if hooks is not None else None
    if attached is not None:
        attached.close()
    recorder._end(f"os._exit({status})" if status else None)
