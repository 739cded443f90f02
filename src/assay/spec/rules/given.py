"""What do data say that were given for a load and may be anything?  Values of the wrong type are read as if they were not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Data = Mapping[str, Any]
DURATION_S, AT_S = 30.0, 10.0  # defaults of serving.arrivals.duration_s and faults[].at_s


def table_of(data: object, name: str) -> Data:
    inner = data.get(name) if isinstance(data, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def items_of(data: Data, name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def tables_of(data: Data, name: str) -> Iterator[tuple[int, Data]]:
    for index, item in enumerate(items_of(data, name)):
        if isinstance(item, Mapping):
            yield index, item


def serving_of(data: Data) -> Data:
    return table_of(data, "serving")


def process_of(data: Data) -> str:
    value = table_of(serving_of(data), "arrivals").get("process", "closed")
    return value if isinstance(value, str) else ""


def task_of(data: Data) -> str:
    value = serving_of(data).get("task", "chat")
    return value if isinstance(value, str) else ""


def number_or(value: object, default: float) -> float | None:
    if value is None:
        return default
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_list(target: Data, name: str) -> bool:
    return isinstance(target.get(name, []), list)
