"""Which probe does this process have?

One, opened by the first caller: the script that marks its steps, or the hooks on its behalf.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, cast

from fireassay.instruments.recorder.inactive import Probe

if TYPE_CHECKING:
    from fireassay.instruments.recorder.recorder import Recorder

_current: Probe | None = None  # the recording probe of this process


def recorder() -> Recorder | None:
    """The recording probe of this process, for hooks; None outside a launch."""
    current = started()
    return cast("Recorder", current) if current.active else None


def started() -> Probe:
    """The recording probe inside a launch, opened on first use; else the inactive one."""
    global _current
    if _current is not None:
        return _current
    folder = os.environ.get("FIREASSAY_LAUNCH_DIR")
    if not folder or _is_helper_process():
        return _idle()
    try:
        from fireassay.instruments.recorder.opening import open_recorder

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
    """Stop recording in a forked child, such as a DataLoader's worker: the record belongs to the parent."""
    global _current
    if _current is not None:
        _current.active = False
        _current = _idle()
        hooks = sys.modules.get("fireassay.instruments.attach")
        if hooks is not None:
            hooks.silence()


def _idle() -> Probe:
    idle = Probe()
    with suppress(ValueError):  # then the variables are not torchrun's
        idle.rank, idle.workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    return idle


def _forget() -> None:
    global _current
    _current = None


def _is_helper_process() -> bool:
    """True if this is a daemonic child such as a DataLoader's worker, which runs the script's top level again."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return bool(multiprocessing is not None and multiprocessing.current_process().daemon)
