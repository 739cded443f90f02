"""How do we measure a training script that does not know assay?

`arm` puts a finder first in `sys.meta_path`: it waits for torch, lets it load, then installs the hooks. A script that marks its own
steps (`fireassay.probe.start`) takes precedence: the hooks are removed, except those that record communication between
several ranks, which marks cannot provide (`marked_steps`).
The hooks use no random number generator, change no tensor and add no collective, so weights are unaffected.
An error here is printed once on standard error and ends the measurement, never the training.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from fireassay.instruments.hooks.import_hook import Waits, when_there

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached
    from fireassay.instruments.recorder.recorder import Recorder

_undo: list[Callable[[], None]] = []
_current: Attached | None = None
_marked: Recorder | None = None  # of a script that marks its own steps
_trouble = ""  # why the hooks are not installed


def current() -> Attached | None:
    """The hooks' state in this process; None without hooks."""
    return _current


def unseen() -> str:
    """Why this process recorded no step."""
    if _marked is not None:
        return "the script opened the probe but marked no step"
    if _current is None:
        return _trouble or "torch was not hooked (workload.attach is off)"
    return _current.unseen()


def arm() -> None:
    """Install the hooks once torch is imported, or now if it already is; no-op if installed."""
    marks = _marked is not None and _marked.active
    if marks or _current is not None or any(_is_ours(finder) and finder.name == "torch" for finder in sys.meta_path):
        return
    when_there(_attach)


def _is_ours(finder: object) -> TypeGuard[Waits]:
    return isinstance(finder, Waits) and not finder.stays


def silence() -> None:
    """Stop measuring in this process, a fork of the measured one."""
    if _current is not None:
        _current.silence()


def mark(recorder: Recorder) -> None:
    """Remove the hooks because the script marks its own steps; keep those that record communication between several ranks."""
    global _marked
    if _marked is recorder:
        return
    before, _marked = _current, recorder
    detach()
    recorder.goes_unobserved()
    # with `workload.attach = false` torch stays unpatched
    if recorder.workers > 1 and os.environ.get("FIREASSAY_ATTACH") == "1":
        when_there(lambda torch: _see_communication(torch, recorder, before))
    else:
        _forget(before)


def _see_communication(torch: Any, recorder: Recorder, before: Attached | None) -> None:
    try:
        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.marked_steps import Marked

        marked = Marked(torch, recorder, before)
        torch_hooks.install_communication(torch, marked, _undo)
        recorder.attach_communication(marked)
    except Exception as error:
        detach()
        _forget(before)
        print(f"assay: this worker's communication is not recorded: {type(error).__name__}: {error}", file=sys.stderr)


def _forget(before: Attached | None) -> None:
    """A DistributedDataParallel keeps its timed group after the hooks are removed: without this its records would pile up."""
    if before is not None:
        before.calls.wanted = False


def detach() -> None:
    """Remove the hooks and stop waiting for torch: the script marks its own steps."""
    global _current
    _current = None
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_ours(finder)]
    while _undo:
        _undo.pop()()


def _attach(torch: Any) -> None:
    global _current, _trouble
    try:
        from fireassay.instruments.hooks import communication_differencing, torch_hooks
        from fireassay.instruments.hooks.steps import Attached
        from fireassay.instruments.recorder import singleton

        recorder = singleton.recorder()
        if recorder is None:
            return
        attached = Attached(torch, recorder)
        torch_hooks.install(torch, attached, _undo)
        _current = attached
        if os.environ.get(communication_differencing.VARIABLE) == "1":
            communication_differencing.install(torch, attached, recorder, _undo)
    except Exception as error:
        detach()
        _trouble = f"the hooks could not be installed in torch {torch.__version__}: {type(error).__name__}: {error}"
        print(f"assay: this worker's steps are not measured: {type(error).__name__}: {error}", file=sys.stderr)
