"""Which modules does a script call itself, and not through another module?  Their calls are its forward passes.

Every call of a module goes through `nn.Module.__call__`; to replace that costs each of the hundreds of nested calls of a step, so it
is replaced for a while only: until `QUIET` outermost calls in a row were of classes that are known.  A class that was called
outermost gets a `__call__` of its own, which costs its own instances alone, and those that are nested in another module a frame and
three looks; nothing is written into an instance, so that copies, pickles, hooks and torch.compile find what they would find without.
It is looked again when something may have changed: at steps 2^k, at a new iterator, at a new optimizer, and when gradients are asked
for that no forward pass was seen for.  Beyond that rarely: at most one call in `SHARE` is looked at.

Cannot tell: a module of a class never seen before that begins to be called beside others between two looks; until the next look its
time is unknown time of the step.
Under torch.compile `is_compiling` and `is_dynamo_compiling` are constant, so nothing of this is traced; putting the replacement in and
out makes nothing compile again (torch 2.13), but for a class that is nested in a compiled graph and is called outermost only later: that
graph, once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from typing import Any, Final, Protocol

QUIET: Final = 16  # outermost calls without news after which nothing new is expected
SHARE: Final = 32

# Of the module, not of an object: a class's own `__call__` must be a plain function, which can be pickled by its name.
_current: Outermost | None = None
_base: Any = None  # torch.nn.Module
_is_compiling: Callable[[], bool] = bool
_is_traced: Callable[[], bool] = bool  # by what reads the code itself: one frame, where `is_compiling` takes two


class FastForward(Protocol):
    """Who sees the forward pass of an ordinary step in fewer calls."""

    on: bool

    def forward(self, module: Any, inputs: Any) -> bool:
        """The outermost module is called: whether this is a forward pass of the step."""

    def forwarded(self) -> None:
        """It has answered."""


class Watcher(Protocol):
    """Who is passed the calls of outermost modules."""

    inside: bool

    @property
    def ordinary(self) -> FastForward:
        """Who is asked first."""

    @property
    def active(self) -> bool:
        """Whether anything is recorded."""

    def shielded(self, call: Callable[..., None], one: Any = ..., other: Any = ...) -> bool:
        """What a hook does, timed; whether it went well."""

    def forward(self, module: Any, inputs: Any = ...) -> None:
        """The outermost module is called."""

    def forwarded(self) -> None:
        """It has answered."""


class Outermost:
    """Finds the classes that are called outermost, and passes their calls to `attached`."""

    def __init__(self, torch: Any, attached: Watcher) -> None:
        self.attached, self.main = attached, threading.main_thread().ident
        self.looked = self.calls = 0
        self._torch, self._base = torch, torch.nn.Module
        self._original = self._base.__call__
        self._looker = _calling(self._original)
        self._looking = False
        self._quiet = 0
        self._known: dict[Any, tuple[Any, Any]] = {}  # class -> the `__call__` that it was given, the one that it had

    def start(self) -> None:
        """Calls are seen from here on."""
        global _current, _base, _is_compiling, _is_traced
        compiler = self._torch.compiler
        _current, _base, _is_compiling = self, self._base, compiler.is_compiling
        _is_traced = getattr(compiler, "is_dynamo_compiling", _is_compiling)
        self.look()

    def stop(self) -> None:
        """Everything is as it was."""
        global _current
        self.rest()
        for owner, (own, before) in self._known.items():
            if owner.__dict__.get("__call__") is not own:  # somebody else has put his own over it
                continue
            if before is None:
                del owner.__call__
            else:
                owner.__call__ = before
        self._known = {}
        if _current is self:
            _current = None

    def look(self) -> None:
        """Look for classes that are not known."""
        if _current is not self:  # not started, or stopped
            return
        self._quiet = 0
        if self._base.__call__ is self._original:
            self._base.__call__ = self._looker
        self._looking = self._base.__call__ is self._looker

    def look_again(self) -> None:
        """Something may have changed: look, unless that was done a lot."""
        if self.looked * SHARE <= self.calls:
            self.look()

    def rest(self) -> None:
        """Nothing new is expected."""
        if self._base.__call__ is self._looker:
            self._base.__call__ = self._original
        self._looking = False

    def met(self, owner: Any) -> None:
        """An instance of this class is called outermost."""
        self.calls += 1
        if not self._looking:
            return
        self.looked += 1
        if self._known.keys().isdisjoint(owner.__mro__):
            self._quiet = 0
            self._know(owner)
            return
        self._quiet += 1
        if self._quiet >= QUIET:
            self.rest()

    def _know(self, owner: Any) -> None:
        """A class that has a `__call__` of its own (OptimizedModule, GraphModule) keeps it, inside of ours."""
        definer = next(base for base in owner.__mro__ if "__call__" in base.__dict__)
        own = called if definer is self._base else _calling(definer.__dict__["__call__"])
        with suppress(TypeError):  # a class that cannot be changed is found again whenever it is looked for
            before = owner.__dict__.get("__call__")
            owner.__call__ = own
            self._known[owner] = (own, before)


def called(self: Any, *arguments: Any, **words: Any) -> Any:
    """The `__call__` of a class that is called outermost and that had none of its own."""
    if _is_traced() or (state := _current) is None:
        return (_base or _module()).__call__(self, *arguments, **words)
    attached = state.attached
    if attached.inside:
        return _base.__call__(self, *arguments, **words)
    ordinary = attached.ordinary
    if ordinary.on and get_ident() == state.main and ordinary.forward(self, arguments or words):
        try:
            return _base.__call__(self, *arguments, **words)
        finally:
            ordinary.forwarded()
    if _measuring(state) is None:
        return _base.__call__(self, *arguments, **words)
    begun = attached.shielded(attached.forward, self, arguments or words)
    try:
        return _base.__call__(self, *arguments, **words)
    finally:
        if begun:
            attached.shielded(attached.forwarded)


def _calling(original: Any) -> Any:
    """The same around another `__call__`."""

    def __call__(self: Any, *arguments: Any, **words: Any) -> Any:
        if _is_traced() or (state := _current) is None or state.attached.inside:
            return original(self, *arguments, **words)
        if (attached := _measuring(state)) is None:
            return original(self, *arguments, **words)
        ordinary = attached.ordinary
        if ordinary.on and ordinary.forward(self, arguments or words):
            try:
                return original(self, *arguments, **words)
            finally:
                ordinary.forwarded()
        begun = attached.shielded(attached.forward, self, arguments or words)
        try:
            return original(self, *arguments, **words)
        finally:
            if begun:
                attached.shielded(attached.forwarded)

    return __call__


def _measuring(state: Outermost) -> Watcher | None:
    """Who measures a call made now that no other is round, if the script itself makes it, in the main thread."""
    if _is_compiling() or not state.attached.active or get_ident() != state.main:
        return None
    return state.attached


def _module() -> Any:
    """A process to which such a class was sent, and which knows nothing of all this."""
    from torch.nn import Module

    return Module
