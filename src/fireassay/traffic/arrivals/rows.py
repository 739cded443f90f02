"""How are a schedule's columns built, selected and concatenated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from fireassay.traffic.arrivals.schedule import KINDS, NONE, PAUSES, PHASES, Schedule

COLD, WARM_UP, MAIN = (PHASES.index(name) for name in ("cold", "warm_up", "main"))
NORMAL, CANARY, IDENTITY, RERUN, NEEDLE = range(len(KINDS))
THINK, TOOL = PAUSES.index("think"), PAUSES.index("tool")

TYPES: Final[dict[str, type[np.signedinteger[Any]]]] = {
    "phase": np.int8,
    "kind": np.int8,
    "stream": np.int32,
    "session": np.int64,
    "turn": np.int32,
    "due_ns": np.int64,
    "pause_ns": np.int64,
    "pause_kind": np.int8,
    "tokens_in": np.int64,
    "tokens_out": np.int64,
    "seed": np.int64,
    "replica": np.int32,
    "example": np.int64,
}
BLANK: Final = {"phase": MAIN, "kind": NORMAL, "pause_ns": 0, "pause_kind": 0}  # other columns: NONE

Column = npt.NDArray[np.signedinteger[Any]]
Ints = npt.NDArray[np.int64]
Value = TypeVar("Value")


def rows(n: int, **given: Column | int) -> Schedule:
    """`n` requests with these columns (arrays of length n, or one value for all); the others hold their blank value."""
    columns: dict[str, Any] = {}
    for name, kind in TYPES.items():
        value = given.get(name, BLANK.get(name, NONE))
        columns[name] = np.full(n, value, dtype=kind) if isinstance(value, int) else np.asarray(value, dtype=kind)
    return Schedule(**columns)


def replaced(schedule: Schedule, **given: Column) -> Schedule:
    """The same requests with some columns replaced."""
    return replace(schedule, **{name: np.asarray(column, TYPES[name]) for name, column in given.items()})  # type: ignore[arg-type]


def chosen(schedule: Schedule, which: Ints) -> Schedule:
    """The requests numbered `which`, in that order."""
    columns: dict[str, Any] = {name: getattr(schedule, name)[which] for name in TYPES}
    return replace(
        schedule,
        **columns,
        expected=_renumbered(schedule.expected, which),
        blocks=_renumbered(schedule.blocks, which),
        cluster=_renumbered(schedule.cluster, which),
    )


def joined(parts: Sequence[Schedule]) -> Schedule:
    """Concatenate schedules."""
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in TYPES}
    offsets = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    expected, cluster = (
        {begin + key: text for begin, part in zip(offsets, parts, strict=False) for key, text in getattr(part, name).items()}
        for name in ("expected", "cluster")
    )
    blocks = {begin + key: ids for begin, part in zip(offsets, parts, strict=False) for key, ids in part.blocks.items()}
    together = max(part.together for part in parts)
    return Schedule(**columns, expected=expected, cluster=cluster, blocks=blocks, together=together)


def _renumbered(values: Mapping[int, Value], indices: Ints) -> dict[int, Value]:
    if not values:
        return {}
    return {new: values[old] for new, old in enumerate(indices.tolist()) if old in values}
