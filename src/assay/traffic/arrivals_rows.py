"""How are the columns of a schedule put together?  Blank columns, a choice of rows, and one schedule after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from assay.traffic.schedule import KINDS, NONE, PAUSES, PHASES, Schedule

COLD, WARM_UP, MAIN = (PHASES.index(name) for name in ("cold", "warm_up", "main"))
NORMAL, CANARY, IDENTITY, RERUN, NEEDLE = range(len(KINDS))
THINK, TOOL = PAUSES.index("think"), PAUSES.index("tool")

TYPES: Final[dict[str, type[np.signedinteger[Any]]]] = {
    "phase": np.int8, "kind": np.int8, "stream": np.int32, "session": np.int64, "turn": np.int32, "due_ns": np.int64,
    "pause_ns": np.int64, "pause_kind": np.int8, "tokens_in": np.int64, "tokens_out": np.int64, "seed": np.int64,
    "replica": np.int32, "example": np.int64,
}  # fmt: skip
COLUMNS: Final = tuple(field.name for field in fields(Schedule) if field.name in TYPES)
BLANK: Final = {"phase": MAIN, "kind": NORMAL, "pause_ns": 0, "pause_kind": 0}  # others: NONE

Column = npt.NDArray[np.signedinteger[Any]]


def rows(n: int, **given: Column | int) -> Schedule:
    """`n` requests with these columns (arrays of length n, or one value for all); the others say "no such thing"."""
    columns: dict[str, Any] = {}
    for name, kind in TYPES.items():
        value = given.get(name, BLANK.get(name, NONE))
        columns[name] = np.full(n, value, dtype=kind) if isinstance(value, int) else np.asarray(value, dtype=kind)
    return Schedule(**columns)


def replaced(schedule: Schedule, **given: Column) -> Schedule:
    """The same requests with other columns."""
    new: dict[str, Any] = {name: np.asarray(column, TYPES[name]) for name, column in given.items()}
    return Schedule(**{**columns(schedule), **new})


def chosen(schedule: Schedule, which: npt.NDArray[Any] | slice) -> Schedule:
    """Some of the requests, in the order of `which`."""
    some: dict[str, Any] = {name: column[which] for name, column in columns(schedule).items()}
    return Schedule(**some)


def joined(parts: Sequence[Schedule]) -> Schedule:
    """One after the other; without what answers must contain, which is known by request number."""
    every: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in TYPES}
    return Schedule(**every)


def columns(schedule: Schedule) -> dict[str, Any]:
    """The arrays by name."""
    return {name: getattr(schedule, name) for name in TYPES}
