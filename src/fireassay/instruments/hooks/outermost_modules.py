"""Which modules does a script call itself, and not through another module?

Their calls are its forward passes. Every call of a module goes through `nn.Module.__call__`; patching that costs each of the hundreds
of nested calls of a step, so it is patched only until `QUIET` consecutive outermost calls were of known classes. A class that was
called outermost gets its own `__call__`, which costs only its instances; nested ones pay a frame and three checks. Instances
stay untouched, so copies, pickles, hooks and torch.compile work as before.
The scan repeats when something may have changed: at steps 2^k, at a new iterator, at a new optimizer, and when gradients are requested
without a recorded forward pass. It is bounded: at most one call in `SHARE` is scanned.

Cannot tell: a module of a new class first called between two scans; until the next scan its time counts as unattributed time of the
step.
Under torch.compile `is_compiling` and `is_dynamo_compiling` are constant, so none of this is traced; patching and unpatching do not
trigger recompilation (torch 2.13), except for a class nested in a compiled graph that is later called outermost: that graph, once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from typing import Any, Final, Protocol

QUIET: Final = 16  # outermost calls without a new class, after which none is expected
SHARE: Final = 32

# Module-level, because a class's `__call__` must be a plain function that can be pickled by name.
_current: Outermost | None = None
_base: Any = None  # torch.nn.Module
_compiler: Any = None  # torch.compiler
_is_traced: Callable[[], bool] = bool  # a constant under torch.compile


class Watcher(Protocol):
    """Receives the calls of outermost modules."""

    active: bool  # anything is recorded
    inside: bool  # a pass

    @property
    def passes_read(self) -> int:
        """Calls of outermost modules so far."""

    def forward(self, module: Any, inputs: Any = ...) -> bool:
        """The outermost module is called; whether its end is recorded too."""

    def forwarded(self) -> None:
        """The call has returned."""


class Outermost:
    """Finds the classes that are called outermost, and passes their calls to `attached`."""

    def __init__(self, torch: Any, attached: Watcher) -> None:
        self.attached, self.main = attached, threading.main_thread().ident
        self._examined = 0
        self._torch, self._base = torch, torch.nn.Module
        self._original = self._base.__call__
        self._scanning_call = _calling(self._original)
        self.searches = False
        self._quiet = 0
        self._known: dict[Any, tuple[Any, Any]] = {}  # class -> (its new `__call__`, its original one)

    def start(self) -> None:
        """Start recording calls."""
        global _current, _base, _compiler, _is_traced
        _current, _base, _compiler = self, self._base, self._torch.compiler
        _is_traced = getattr(_compiler, "is_dynamo_compiling", _compiler.is_compiling)
        self.search()

    def stop(self) -> None:
        """Restore everything."""
        global _current
        self.rest()
        for owner, (replacement, before) in self._known.items():
            if owner.__dict__.get("__call__") is not replacement:  # patched again by other code
                continue
            if before is None:
                del owner.__call__
            else:
                owner.__call__ = before
        self._known = {}
        if _current is self:
            _current = None

    def search(self) -> None:
        """Start a scan for unknown classes."""
        if _current is not self:  # not started, or stopped
            return
        self._quiet = 0
        if self._base.__call__ is self._original:
            self._base.__call__ = self._scanning_call
        self.searches = self._base.__call__ is self._scanning_call

    def search_again(self) -> None:
        """Something may have changed: scan, within the budget."""
        if self._examined * SHARE <= self.attached.passes_read:
            self.search()

    def rest(self) -> None:
        """No new class is expected."""
        if self._base.__call__ is self._scanning_call:
            self._base.__call__ = self._original
        self.searches = False

    def examine(self, owner: Any) -> None:
        """An instance of this class is called outermost."""
        self._examined += 1
        if self._known.keys().isdisjoint(owner.__mro__):
            self._quiet = 0
            self._know(owner)
            return
        self._quiet += 1
        if self._quiet >= QUIET:
            self.rest()

    def _know(self, owner: Any) -> None:
        """Patch a class; one with its own `__call__` (OptimizedModule, GraphModule) keeps it inside ours."""
        definer = next(base for base in owner.__mro__ if "__call__" in base.__dict__)
        replacement = called if definer is self._base else _calling(definer.__dict__["__call__"])
        with suppress(TypeError):  # an immutable class is found again at every scan
            before = owner.__dict__.get("__call__")
            owner.__call__ = replacement
            self._known[owner] = (replacement, before)


def called(self: Any, *arguments: Any, **words: Any) -> Any:
    """The `__call__` of a class called outermost without its own."""
    if _is_traced() or (state := _current) is None:
        return (_base or _module()).__call__(self, *arguments, **words)
    attached = state.attached
    if (
        attached.inside
        or not attached.active
        or get_ident() != state.main
        or getattr(_compiler, "_is_compiling_flag", False)
        or not attached.forward(self, arguments or words)
    ):
        return _base.__call__(self, *arguments, **words)
    try:
        return _base.__call__(self, *arguments, **words)
    finally:
        attached.forwarded()


def _calling(original: Any) -> Any:
    """The same around an existing `__call__`."""

    def __call__(self: Any, *arguments: Any, **words: Any) -> Any:
        if _is_traced() or (state := _current) is None:
            return original(self, *arguments, **words)
        attached = state.attached
        if (
            attached.inside
            or not attached.active
            or get_ident() != state.main
            or getattr(_compiler, "_is_compiling_flag", False)
            or not attached.forward(self, arguments or words)
        ):
            return original(self, *arguments, **words)
        try:
            return original(self, *arguments, **words)
        finally:
            attached.forwarded()

    return __call__


def _module() -> Any:
    """`nn.Module` in a process that unpickled such a class without these hooks."""
    from torch.nn import Module

    return Module
