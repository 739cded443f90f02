"""What is a native chart of a workbook?  Columns of numbers in the unit of their head, and traces that refer to their cells.

A graph has its own table, in display units, so that a reader can change, extend or copy it. A number that was not measured leaves its
cell empty, because a spreadsheet draws words as 0; the reason is in a column of notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fireassay.estimates.estimate import Value

REFERENCE, WHOLE, REST = -1, -2, -3  # colours of no subject: an ideal or a gate, the whole of parts, what is not attributed

Look = Literal["marks", "joined", "dotted", "dashes", "stacked", "bar"]  # joined, dotted: marks on a line; dashes: a line without intervals


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """A column: names, plain numbers, or values with intervals; `factor` takes a value to the unit in the title."""

    title: str
    values: tuple[Value | float | str | None, ...]
    factor: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A series: the cells of one column, from the first to the last of these rows."""

    name: str
    column: int
    rows: tuple[int, int]
    look: Look = "joined"
    colour: int = 0  # index of its subject, or one of those above


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis with its unit in the title; `base`: of its logarithm, 0 if linear."""

    title: str
    base: int = 0
    step: float | None = None  # between labels


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A chart over the column `x`: points in a plane, columns side by side, or horizontal bars with names."""

    name: str
    title: str
    shape: Literal["plane", "columns", "bars"] = "plane"
    columns: tuple[Amounts, ...]
    x: int
    traces: tuple[Trace, ...]
    across: Axis
    up: Axis
    notes: tuple[str, ...] = ()
