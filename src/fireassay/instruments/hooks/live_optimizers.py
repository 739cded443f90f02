"""Which optimizers exist, and which parameters do they train?"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any


class LiveOptimizers:
    """The live optimizers, weakly and by identity: a script may define its own equality."""

    def __init__(self) -> None:
        self._there: dict[int, Callable[[], Any]] = {}

    def add(self, optimizer: Any) -> None:
        """Add an optimizer."""
        self._there = {key: reference for key, reference in self._there.items() if reference() is not None}
        with suppress(TypeError):  # without weak references its lifetime is unknown
            self._there[id(optimizer)] = weakref.ref(optimizer)

    def __iter__(self) -> Iterator[Any]:
        for reference in tuple(self._there.values()):
            if (optimizer := reference()) is not None:
                yield optimizer

    def train(self, module: Any) -> bool:
        """True if any of them holds a parameter of the module."""
        return any(shared_parameters(optimizer, module) for optimizer in self)


def shared_parameters(optimizer: Any, module: Any) -> set[int]:
    """IDs of the trainable parameters in both: an optimizer may also hold a frozen part."""
    return trained_parameters(optimizer) & {id(parameter) for parameter in module.parameters() if parameter.requires_grad}


def trained_parameters(optimizer: Any) -> set[int]:
    return {id(parameter) for group in getattr(optimizer, "param_groups", ()) for parameter in group["params"] if parameter.requires_grad}
