"""How do rules read an experiment before it is known to be valid?

The data may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Data = Mapping[str, Any]


def table(data: object, name: str) -> Data:
    inner = data.get(name) if isinstance(data, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def items(data: Data, name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def tables(data: Data, name: str) -> Iterator[tuple[int, Data]]:
    for index, item in enumerate(items(data, name)):
        if isinstance(item, Mapping):
            yield index, item


def number(value: object, default: float) -> float | None:
    if value is None:
        return default
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_list(target: Data, name: str) -> bool:
    return isinstance(target.get(name, []), list)
