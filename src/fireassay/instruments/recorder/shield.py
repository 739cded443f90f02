"""How do a recording's own errors stay out of the training?

An error in it is printed once on stderr and ends the recording, never the training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Recording(Protocol):
    """May fail, and records nothing from then on."""

    @property
    def active(self) -> bool:
        """True if anything is recorded."""

    def fail(self, error: Exception, where: str = ...) -> None:
        """End the recording."""


_P = ParamSpec("_P")
R = TypeVar("R", bound=Recording)


def shielded(method: Callable[Concatenate[R, _P], None]) -> Callable[Concatenate[R, _P], None]:
    """Skip the method if nothing is recorded; its errors end the recording, not the training."""

    def guarded(self: R, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if self.active:
            try:
                method(self, *args, **kwargs)
            except Exception as error:
                self.fail(error, f"probe.{method.__name__.lstrip('_')}")

    functools.update_wrapper(guarded, method)
    return guarded
