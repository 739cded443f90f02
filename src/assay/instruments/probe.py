"""What does a training script tell assay about itself?  The public API for the user's script.

    from assay import probe

    with probe.start() as p:
        p.watch(model)                              # after wrapping it in DistributedDataParallel
        for epoch in range(epochs):
            for batch, ids in p.steps(loader, epoch=epoch):
                with p.phase("forward"):
                    loss = loss_of(model, batch)
                with p.phase("backward"):
                    loss.backward()
                with p.phase("optimizer"):
                    optimizer.step()
                p.samples(ids)
                p.log(loss=loss)

Outside of a launch by assay (no ASSAY_LAUNCH_DIR) `start` returns the `Probe` of `_inactive.py`, whose methods do nothing, and
nothing is imported.  Inside a launch it returns the recording one of `_recorder.py`.  Neither touches a random number
generator, synchronises a GPU per step, or lets an error of its own reach the training.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, cast

from assay.instruments._inactive import Probe as Probe

if TYPE_CHECKING:
    from assay.instruments._recorder import Recorder

_current: Probe | None = None  # the recording probe of this process


def start() -> Probe:
    """The probe of this process: recording inside a launch by assay, else doing nothing. Never raises."""
    found = _started()
    if found.active or "assay.instruments.attach" in sys.modules:
        from assay.instruments import attach  # a script that marks its own steps has the last word

        attach.mark(cast("Recorder", found)) if found.active else attach.detach()
    return found


def recorder() -> Recorder | None:
    """The recording probe of this process, for those who mark steps in the script's place; None outside of a launch."""
    found = _started()
    return cast("Recorder", found) if found.active else None


def _started() -> Probe:
    global _current
    if _current is not None:
        return _current
    folder = os.environ.get("ASSAY_LAUNCH_DIR")
    if not folder or _is_helper_process():
        return _idle()
    try:
        from assay.instruments._recorder import open_recorder

        _current = open_recorder(folder, os.environ, on_close=_forget)
    except Exception as error:
        with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
            print(f"assay: this worker is not recorded: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return _idle()
    _watch_forks()
    return _current


@cache
def _watch_forks() -> None:
    os.register_at_fork(after_in_child=_silence)


def _silence() -> None:
    """In a forked child, such as a DataLoader's worker: this rank's record belongs to the parent."""
    global _current
    if _current is not None:
        _current.active = False
        _current = _idle()


def _idle() -> Probe:
    idle = Probe()
    with suppress(ValueError):  # whatever these variables mean then, they are not torchrun's
        idle.rank, idle.workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    return idle


def _forget() -> None:
    global _current
    _current = None


def _is_helper_process() -> bool:
    """Whether this is a daemonic child such as a DataLoader's worker, which runs the script's top level again."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return bool(multiprocessing is not None and multiprocessing.current_process().daemon)
