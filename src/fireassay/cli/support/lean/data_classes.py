"""How do we avoid the tenth of a second that the methods of 350 data classes cost?

Up to Python 3.12, `dataclasses` writes and compiles six methods of every frozen class. Only `__init__` needs that: the others do the same
for every class, so here they are closures over its fields. Python 3.13 compiles all methods of a class at once; there it stays as it is.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Sequence
from reprlib import recursive_repr
from typing import Any, Final

COMPARED: Final = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
REPLACED: Final = ("_cmp_fn", "_frozen_get_del_attr", "_hash_fn", "_repr_fn", "_tuple_str")

Fields = Sequence[dataclasses.Field[Any]]
Values = Callable[[object], tuple[Any, ...]]


def compile_less() -> None:
    """Give data classes made from now on closures as methods."""
    if sys.version_info < (3, 13) and all(hasattr(dataclasses, name) for name in REPLACED):
        for name in REPLACED:
            setattr(dataclasses, name, globals()[name])


def _tuple_str(_: str, fields: Fields) -> Values:
    """The values of an instance's fields; where this goes, `dataclasses` would pass text on."""
    names = _names(fields)
    return operator.attrgetter(*names) if len(names) > 1 else lambda instance: tuple(getattr(instance, name) for name in names)


def _names(fields: Fields) -> tuple[str, ...]:
    return tuple(field.name for field in fields)


def _cmp_fn(name: str, op: str, values: Values, _other: Values, **_globals: object) -> Callable[[object, object], object]:
    compare = COMPARED[op]

    def method(self: object, other: object) -> object:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    method.__name__ = name
    return method


def _hash_fn(fields: Fields, _globals: object) -> Callable[[object], int]:
    values = _tuple_str("self", fields)

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


def _repr_fn(fields: Fields, _globals: object) -> Callable[[object], str]:
    names = _names(fields)

    @recursive_repr()
    def __repr__(self: object) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _frozen_get_del_attr(cls: Any, fields: Fields, _globals: object) -> tuple[Callable[..., None], Callable[..., None]]:
    names = _names(fields)

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__
