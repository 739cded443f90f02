"""Which optimizers are there, and which parameters do they train?"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any


class LiveOptimizers:
    """The optimizers there are, weakly and by identity: a script's own may be compared as it likes."""

    def __init__(self) -> None:
        self._there: dict[int, Callable[[], Any]] = {}

    def add(self, optimizer: Any) -> None:
        """There is one more."""
        self._there = {key: there for key, there in self._there.items() if there() is not None}
        with suppress(TypeError):  # nobody can know for how long it is there
            self._there[id(optimizer)] = weakref.ref(optimizer)

    def __iter__(self) -> Iterator[Any]:
        for there in tuple(self._there.values()):
            if (optimizer := there()) is not None:
                yield optimizer

    def train(self, module: Any) -> bool:
        """Whether one of them has any parameter of the module."""
        return any(shared_parameters(optimizer, module) for optimizer in self)


def shared_parameters(optimizer: Any, module: Any) -> set[int]:
    """The parameters, by identity, that both have and that are trained: a frozen part may be in an optimizer too."""
    return trained_parameters(optimizer) & {id(parameter) for parameter in module.parameters() if parameter.requires_grad}


def trained_parameters(optimizer: Any) -> set[int]:
    return {id(parameter) for group in getattr(optimizer, "param_groups", ()) for parameter in group["params"] if parameter.requires_grad}
