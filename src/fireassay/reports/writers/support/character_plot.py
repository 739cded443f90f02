"""How are intervals drawn with characters, so that the drawing says what the numbers say?

The axis is a row of columns.  A cell covers [a, b) and is filled by every interval that touches it; an edge (a gate, a margin, no
change) has a column of its own between two cells, so that an interval crosses it on the screen if and only if it does in the
numbers.  Cells are 1, 2, 2.5 or 5 times a power of ten wide; an edge inside a cell splits it.  An end beyond the axis is an arrow.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fireassay.estimates.rounding import limit

STEPS: Final = (1.0, 2.0, 2.5, 5.0)
NARROWEST: Final = 12  # columns, below which a plot says nothing
MIN_CELLS: Final = 3  # cells that any range fits into, however wide they are
EQUAL: Final = 1e-9  # relative to the values: what differs by rounding alone
CUT: Final = 0.1  # of the range, beside the last value where an end is cut
BREADTH: Final = 4.0  # an end farther than this multiple of the spread of values, and of the usual interval, is cut


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A column of the axis: the numbers in [low, high), or the single number of an edge (low = high)."""

    low: float
    high: float

    @property
    def edge(self) -> bool:
        """True if it is an edge."""
        return self.low == self.high


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The columns from the left, and the width of a cell."""

    cells: tuple[Cell, ...]
    step: float

    @property
    def low(self) -> float:
        """Where it begins."""
        return self.cells[0].low

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.cells[-1].high


def axis(intervals: Sequence[tuple[float, float, float]], edges: Sequence[float], width: int) -> Axis | None:
    """The finest axis of at most `width` columns that shows all (value, low, high) and edges; None if there is nothing to show."""
    values = [value for value, _, _ in intervals if math.isfinite(value)]
    edges = sorted(set(edges))
    if not values or width < max(NARROWEST, 2 * len(edges) + MIN_CELLS):
        return None
    low, high = _range(intervals, values, edges)
    if high - low <= EQUAL * max(abs(low), abs(high)):
        low, high = low - 0.5 * abs(low or 1.0), high + 0.5 * abs(high or 1.0)
    for step in round_steps((high - low) / width):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if high >= round(last * step, 12):  # a cell ends before its upper number
            last += 1
        if last - first + 2 * len(edges) <= width:
            return Axis(cells=tuple(_cells(first, last, step, edges)), step=step)
    return None


def _range(intervals: Sequence[tuple[float, float, float]], values: Sequence[float], edges: Sequence[float]) -> tuple[float, float]:
    """The numbers to show; ends far from every value and edge are cut."""
    inner_low, inner_high = min((*values, *edges)), max((*values, *edges))
    usual = statistics.median_low(high - low for _, low, high in intervals)  # so that one interval far wider than the others is cut
    reach = BREADTH * (max(inner_high - inner_low, usual if math.isfinite(usual) else 0.0) or abs(inner_high) or 1.0)
    lows = [low for _, low, _ in intervals if math.isfinite(low) and low >= inner_low - reach]
    highs = [high for _, _, high in intervals if math.isfinite(high) and high <= inner_high + reach]
    least, most = min((*lows, inner_low)), max((*highs, inner_high))
    room = CUT * ((most - least) or abs(most) or 1.0)  # so that an arrow does not stand on a value or an edge
    cut_low, cut_high = len(lows) < len(intervals), len(highs) < len(intervals)
    return least - room if cut_low else least, most + room if cut_high else most


def round_steps(least: float) -> Iterator[float]:
    """1, 2, 2.5 and 5 times powers of ten, from `least` on."""
    power = 10.0 ** math.floor(math.log10(least))
    while True:
        yield from (round(factor * power, 12) for factor in STEPS if factor * power >= least * 0.999)
        power *= 10.0


def _cells(first: int, last: int, step: float, edges: Sequence[float]) -> Iterator[Cell]:
    limits = [round(index * step, 12) for index in range(first, last + 1)]
    at = sorted({*limits, *edges})
    for low, high in pairwise(at):
        if low in edges:
            yield Cell(low=low, high=low)
        yield Cell(low=low, high=high)
    if at[-1] in edges:
        yield Cell(low=at[-1], high=at[-1])


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The characters of a plot."""

    begin: str = "├"
    end: str = "┤"
    inside: str = "─"
    value: str = "●"
    edge: str = "┊"
    crossed: str = "┼"
    below: str = "<"
    above: str = ">"
    tick: str = "|"


UNICODE: Final = Marks()
ASCII: Final = Marks(begin="|", end="|", inside="-", value="o", edge=":", crossed="+")


def draw(over: Axis, value: float, low: float, high: float, marks: Marks = UNICODE) -> str:
    """One interval; an unbounded or distant end is an arrow."""
    touched = [_touches(cell, low, high) for cell in over.cells]
    drawn = [_column(cell, inside, marks) for cell, inside in zip(over.cells, touched, strict=True)]
    filled = [index for index, inside in enumerate(touched) if inside and not over.cells[index].edge]
    if filled:
        drawn[filled[0]] = marks.begin if low >= over.low else marks.below
        drawn[filled[-1]] = marks.end if high <= over.high else marks.above
    at = next((index for index, cell in enumerate(over.cells) if not cell.edge and cell.low <= value < cell.high), None)
    on_edge = any(cell.edge and cell.low == value for cell in over.cells)
    if value == high and filled and over.cells[filled[-1]].high == value and not on_edge:  # the interval ends with the cell before
        at = filled[-1]
    if at is not None:
        drawn[at] = marks.value
    elif value >= over.high or value < over.low:
        drawn[-1 if value >= over.high else 0] = marks.above if value >= over.high else marks.below
    return "".join(drawn)


def _touches(cell: Cell, low: float, high: float) -> bool:
    if cell.edge:
        return low < cell.low < high
    return cell.low <= low < cell.high if low == high else low < cell.high and high > cell.low


def _column(cell: Cell, inside: bool, marks: Marks) -> str:
    if cell.edge:
        return marks.crossed if inside else marks.edge
    return marks.inside if inside else " "


def ticks(over: Axis, edges: Mapping[float, str], marks: Marks = UNICODE, room: int = 0) -> str:
    """The labels above the axis: every edge with its word, and round numbers where there is room, each at the column that begins with it.

    `room`: columns in all, for labels that reach beyond the axis; 0: a dozen more than the axis has.
    """
    line = [" "] * (room or len(over.cells) + 12)
    for edge in edges:
        place = next((index for index, cell in enumerate(over.cells) if cell.edge and cell.low == edge), None)
        if place is not None:
            label = f"{marks.edge}{limit(edge):g}"
            if not (edges[edge] and _put(line, place, f"{label} {edges[edge]}")):
                _put(line, place, label)
    every = _spacing(over)
    for index, cell in enumerate(over.cells):
        multiple = cell.low / every
        if not cell.edge and cell.low not in edges and abs(multiple - round(multiple)) < 1e-6:
            _put(line, index, f"{marks.tick}{cell.low:g}")
    return "".join(line).rstrip()


def _spacing(over: Axis) -> float:
    """The distance of two ticks: room for the widest label and two blanks."""
    label = max(len(f"|{over.low:g}"), len(f"|{over.high:g}")) + 2
    return next(step for step in round_steps(over.step * label))


def _put(line: list[str], at: int, text: str) -> bool:
    """A label where nothing stands yet, with a blank beside its neighbours; whether there was room."""
    room = all(character == " " for character in line[max(0, at - 1) : at + len(text) + 1]) and at + len(text) <= len(line)
    if room:
        line[at : at + len(text)] = text
    return room
