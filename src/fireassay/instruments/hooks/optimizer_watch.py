"""When does the watched model's optimizer step, and when are gradients clipped before?

Two shared hooks, installed until `leave`. They do nothing under torch.compile: adding and removing hooks would trigger recompilation.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Final

_STEPS_IN: Final = os.path.join("torch", "optim", "optimizer.py")


class OptimizerWatch:
    """Calls `stepping(optimizer)` and `clipping(parameters, ...)` for a model's parameters."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._own = {id(parameter) for parameter in model.parameters()}
        self._undo: list[Callable[[], None]] = []

    def leave(self) -> None:
        """Remove all hooks."""
        while self._undo:
            self._undo.pop()()

    def watch_steps(self, callback: Callable[[Any, Any, Any], None]) -> None:
        """Call `callback` before every optimizer's step."""
        optimizers = importlib.import_module("torch.optim.optimizer")  # the package hides it
        hook = optimizers.register_optimizer_step_pre_hook(callback)

        def undo() -> None:
            if _in_a_step():  # a disabled hook stays
                hook.hooks_dict_ref()[hook.id] = _nothing
            else:
                hook.remove()

        self._undo.append(undo)

    def watch_calls(self, owner: Any, name: str, callback: Callable[..., None]) -> None:
        """Call `callback` with the arguments of every call of a function, before it runs.

        The function is patched once; watchers may leave at any time.
        """
        original = getattr(owner, name, None)
        if original is None:
            return
        callbacks: list[Callable[..., None]] | None = getattr(original, "_assay_looks", None)
        if callbacks is None:
            callbacks = []
            setattr(owner, name, self._observed(original, callbacks))
        callbacks.append(callback)
        self._undo.append(functools.partial(_leave, owner, name, callbacks, callback))

    def _observed(self, original: Any, callbacks: list[Callable[..., None]]) -> Any:
        is_compiling = self._torch.compiler.is_compiling

        @functools.wraps(original)
        def watched(*arguments: Any, **words: Any) -> Any:
            if not is_compiling():
                for callback in tuple(callbacks):
                    callback(*arguments, **words)
            return original(*arguments, **words)

        watched._assay_looks, watched._assay_original = callbacks, original  # type: ignore[attr-defined]
        return watched

    def trains(self, parameters: Iterable[Any]) -> bool:
        """True if any of the parameters is the model's."""
        return any(id(parameter) in self._own for parameter in parameters)

    def trained_by(self, optimizer: Any) -> bool:
        """True if the optimizer trains the model."""
        return self.trains(parameter for group in optimizer.param_groups for parameter in group["params"])


def _nothing(_: Any, __: Any, ___: Any) -> None:
    """Replaces a removed hook."""


def _leave(owner: Any, name: str, callbacks: list[Callable[..., None]], callback: Callable[..., None]) -> None:
    callbacks.remove(callback)
    ours = getattr(owner, name, None)
    if not callbacks and getattr(ours, "_assay_looks", None) is callbacks:
        original = ours._assay_original  # type: ignore[union-attr]
        setattr(owner, name, original)


def _in_a_step() -> bool:
    """True if an optimizer's step is on the stack: torch may be iterating over its hooks and fails if one is removed."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "wrapper" and frame.f_code.co_filename.endswith(_STEPS_IN):
            return True
        frame = frame.f_back
    return False
