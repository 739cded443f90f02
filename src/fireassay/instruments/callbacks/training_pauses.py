"""How do the callbacks of all frameworks report pauses of the training?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from fireassay.instruments import attach
from fireassay.instruments.recorder import singleton

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached

Kind = Literal["evaluation", "checkpoint_save", "checkpoint_load"]
now = time.monotonic_ns


def arm() -> None:
    """Install the hooks, if a launch by assay runs this script and it does not mark its own steps."""
    if attach.current() is None and singleton.recorder() is not None:
        attach.arm()


def begin(kind: Kind) -> int | None:
    """Begin a pause; returns its start, or None outside a launch."""
    attached = _measuring()
    return attached.pause(kind) if attached is not None else None


def end(kind: Kind, since: int | None, *, succeeded: bool = True) -> None:
    """End a pause."""
    attached = _measuring()
    if attached is not None and since is not None:
        attached.resume(kind, since, succeeded)


def saved(since: int) -> None:
    """A checkpoint was saved, beginning at `since`."""
    attached = _measuring()
    if attached is not None:
        attached.saved(since, now())


@contextmanager
def pause(kind: Kind) -> Iterator[None]:
    """Wrap work that is not training."""
    since, succeeded = begin(kind), False
    try:
        yield
        succeeded = True
    finally:
        end(kind, since, succeeded=succeeded)


def wrapped(owner: Any, name: str, kind: Kind) -> Callable[[], None]:
    """Make every call of an object's method a pause; returns the undo."""
    original = getattr(owner, name)

    @wraps(original)
    def paused(*arguments: Any, **words: Any) -> Any:
        with pause(kind):
            return original(*arguments, **words)

    setattr(owner, name, paused)

    def undo() -> None:
        if vars(owner).get(name) is paused:
            delattr(owner, name)

    return undo


def _measuring() -> Attached | None:
    return attach.current()
