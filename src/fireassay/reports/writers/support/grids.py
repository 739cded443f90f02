"""How is a table laid out on an HTML page, so that it can be sorted, filtered, copied and linked to?

Every cell with a number carries it with its bounds. A unit that a whole row shares stands once, beside the row's name. Rows of the whole
experiment get a table of their own, rows that nothing measured one list by reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from fireassay.estimates.estimate import Estimate
from fireassay.reports.page import DASH, Cell, Figure, Head, Images, Mark, Number, Part, Section, Sum, Table, Words, said

if TYPE_CHECKING:
    from fireassay.reports.writers.support.rows import SumRow

MIN_SHARING: Final = 2  # numbers of a column that share a unit
MIN_SORTED: Final = 3  # rows from which a table can be sorted
MIN_FILTERED: Final = 8  # and from which it can be filtered
EMPTY: Final = (None, "", DASH)
LAUNCH: Final = re.compile(r"(?<![\w&#;])(#|launch )(\d+)\b")
KINDS: Final = ((Mark, "mark"), (Number, "number"), (Images, "images"))
SWATCHES: Final = {
    "base": "grey",
    "ideal": "sky",
    "computing": "blue",
    "transfer": "orange",
    "waiting": "wait",
    "data": "plum",
    "uneven": "teal",
    "other": "teal",
    "unexplained": "rest",
    "unknown": "rest",
    "total": "ink",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A cell with its layout."""

    cell: Cell
    head: str
    number: bool
    name: bool  # whether it names the row
    unit: str = ""  # beside the row's name

    @property
    def kind(self) -> str:
        """How it is drawn."""
        return next((kind for of, kind in KINDS if isinstance(self.cell, of)), "words")

    @property
    def data(self) -> Markup:
        """The number with its bounds, as attributes: to sort, to copy."""
        value, low, high = _numbers(self.cell)
        if value is None:
            return Markup("")
        ends = f' data-lo="{low:.10g}" data-hi="{high:.10g}"' if low is not None and high is not None else ""
        return Markup(f' data-v="{value:.10g}"{ends}')


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row and its anchor."""

    key: str
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A head above neighbouring columns."""

    above: str
    span: int


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table as a page shows it."""

    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    whole: tuple[Line, ...]  # of the whole experiment
    absent: tuple[tuple[str, str], ...]  # (reason, names): measured nowhere
    spans: tuple[Span, ...]
    sorts: bool
    filters: bool


class Grids:
    """Lays out tables of one page, whose anchors are unique."""

    def __init__(self, anchors: frozenset[str]) -> None:
        self._anchors = anchors
        self._used: set[str] = set()

    def of(self, table: Table) -> Grid:
        """The layout of a table."""
        table = _unit_in_head(_filled(table))
        rows, whole, absent = _split(table)
        return Grid(
            heads=table.heads,
            lines=tuple(self._line(table, row) for row in rows),
            whole=tuple(self._line(table, row) for row in whole),
            absent=tuple(_by_reason(absent)),
            spans=_spans(table.heads) if any(head.above for head in table.heads) else (),
            sorts=len(rows) >= MIN_SORTED,
            filters=len(rows) >= MIN_FILTERED,
        )

    def linked(self, text: str) -> Markup:
        """Text whose launches are links to their rows."""

        def link(found: re.Match[str]) -> str:
            target = f"launch-{found[2]}"
            return f'<a href="#{target}">{found[0]}</a>' if target in self._anchors else found[0]

        return Markup(LAUNCH.sub(link, str(escape(text))))

    def has(self, anchor: str) -> bool:
        """True if a link to it leads somewhere."""
        return anchor in self._anchors

    def _line(self, table: Table, row: Sequence[Cell]) -> Line:
        unit = _unit(row[table.stub :])
        places = tuple(
            Place(
                cell=_bare(cell, unit),
                head=table.heads[index].full,
                number=not isinstance(cell, Mark) and table.numeric(index),
                name=index < table.stub,
                unit=unit if index == table.stub - 1 else "",
            )
            for index, cell in enumerate(row)
        )
        key = row_anchor(table, row)
        first = key not in self._used
        self._used.add(key)
        return Line(key=key if first else "", places=places)


def _filled(table: Table) -> Table:
    """The table without columns that hold nothing at all."""
    if any(table.whole(row) for row in table.rows) or not table.rows:
        return table
    kept = [i for i in range(len(table.heads)) if i < table.stub or any(row[i] not in EMPTY for row in table.rows)]
    return replace(table, heads=tuple(table.heads[i] for i in kept), rows=tuple(tuple(row[i] for i in kept) for row in table.rows))


def _unit_in_head(table: Table) -> Table:
    """The table with a unit that a whole column shares in its head, for tables whose rows are all of one kind."""
    units = [_column_unit(table, index) for index in range(len(table.heads))]
    if not any(units):
        return table
    heads = tuple(replace(head, text=f"{head.text}, {unit}") if unit else head for head, unit in zip(table.heads, units, strict=True))
    rows = tuple(row if table.whole(row) else tuple(_bare(cell, unit) for cell, unit in zip(row, units, strict=True)) for row in table.rows)
    return replace(table, heads=heads, rows=rows)


def _column_unit(table: Table, index: int) -> str:
    """The unit of a column of at least two numbers, if all share one."""
    cells = [row[index] for row in table.rows if not table.whole(row)]
    numbers = [cell for cell in cells if isinstance(cell, Number)]
    measured = [cell for cell in numbers if cell.shown.measured]
    scales = {cell.shown.scale for cell in measured}
    if index < table.stub or len(measured) < MIN_SHARING or len(scales) != 1 or len(numbers) < len(cells) or any(c.bare for c in numbers):
        return ""
    return next(iter(scales)).label


def anchors(sections: Iterable[Section]) -> frozenset[str]:
    """Everything on a page that a link can lead to."""
    found: set[str] = set()
    for section in sections:
        found.add(section.key)
        for block in section.blocks:
            if isinstance(block, Table):
                found |= {f"table-{block.name}", *(row_anchor(block, row) for row in _split(block)[0])}
    return frozenset(found - {""})


def row_anchor(table: Table, row: Sequence[Cell]) -> str:
    """What a link to a row is called: "launch-7", or "m-step_time" for a metric."""
    names = [cell for cell in row[: table.stub] if not isinstance(cell, Mark)]
    if not names:
        return ""
    if table.opens and isinstance(names[-1], Words) and names[-1].title:
        return f"m-{_slug(names[-1].title)}"
    return f"{table.anchor}-{_slug(said(names[-1]).text)}" if table.anchor else ""


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-")


def _split(table: Table) -> tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]], list[tuple[Cell, ...]]]:
    """Rows by column, rows of the whole experiment, and rows that nothing measured."""
    rows: list[tuple[Cell, ...]] = []
    whole: list[tuple[Cell, ...]] = []
    absent: list[tuple[Cell, ...]] = []
    for row in table.rows:
        numbers = [cell for cell in row[table.stub :] if cell is not None]
        if numbers and all(isinstance(cell, Number) and not cell.bare and not cell.shown.measured for cell in numbers):
            absent.append(row)
        else:
            (whole if table.whole(row) else rows).append(row)
    return rows, whole, absent


def _by_reason(rows: Iterable[Sequence[Cell]]) -> Iterator[tuple[str, str]]:
    """(reason, names) of rows without a number."""
    grouped: dict[str, list[str]] = {}
    for row in rows:
        reasons = dict.fromkeys(f"{cell.shown.text}: {cell.shown.note}" for cell in row if isinstance(cell, Number))
        grouped.setdefault("; ".join(reasons), []).append(said(row[0]).text)
    for reason, names in grouped.items():
        yield reason, ", ".join(names)


def _unit(cells: Sequence[Cell]) -> str:
    """The unit of a whole row, if all its numbers share one and none is in a column with a unit of its own."""
    numbers = [cell for cell in cells if isinstance(cell, Number)]
    scales = {cell.shown.scale for cell in numbers if cell.shown.measured}
    if len(scales) != 1 or any(cell.bare for cell in numbers):
        return ""
    return next(iter(scales)).label


def _bare(cell: Cell, unit: str) -> Cell:
    return replace(cell, bare=True) if unit and isinstance(cell, Number) else cell


def _spans(heads: Sequence[Head]) -> tuple[Span, ...]:
    """Merge neighbouring heads under the same spanning head."""
    grouped = ((above, len(list(some))) for above, some in groupby(heads, key=lambda head: head.above))
    return tuple(Span(above=above, span=number) for above, number in grouped)


def _numbers(cell: Cell) -> tuple[float | None, float | None, float | None]:
    """Value and bounds of a cell, as displayed."""
    if isinstance(cell, Number) and isinstance(cell.value, Estimate):
        value, factor = cell.value, cell.shown.scale.factor
        ends = (value.low * factor, value.high * factor) if math.isfinite(value.low) and math.isfinite(value.high) else (None, None)
        return value.value * factor, *ends
    if isinstance(cell, Figure):
        return (cell.value if math.isfinite(cell.value) else None), None, None
    if isinstance(cell, (int, float)) and math.isfinite(cell):
        return float(cell), None, None
    return None, None, None


# ---- sums ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Beam:
    """A row of a sum: a bar from `left`, `width` long, both in per cent of the widest, and its interval."""

    text: str
    swatch: str
    left: float
    width: float
    ends: tuple[float, float] | None
    join: float | None  # where the next part begins
    number: str
    interval: str
    data: Markup
    total: bool = False

    @property
    def tip(self) -> str:
        """What hover says."""
        return "\n".join(line for line in (self.text, self.number, self.interval) if line)


def beams(block: Sum) -> tuple[Beam, ...]:
    """The parts of a sum as bars, each beginning where the one before ends."""
    from fireassay.reports.writers.support.rows import written_sum

    printed = written_sum(block)
    known = [part for part in block.parts if isinstance(part.number.value, Estimate)]
    wholes = [_size(part) for part in (*block.measured, block.total)]
    ends = [end for part in (*block.measured, block.total) if (end := _ends(part)) is not None]
    reached = accumulate((row.size for row in printed.parts), initial=printed.start.size)
    widest = max([*wholes, *reached, *(high for _, high in ends)], default=1.0) or 1.0
    result = [
        _beam(part, said(replace(part.number, bare=True)).text, _interval(part), 0.0, _size(part), widest, None) for part in block.measured
    ]
    at = printed.start.size
    result.append(_beam(block.start, printed.start.number, "", 0.0, at, widest, at))
    for part, row in zip(known, printed.parts, strict=True):
        result.append(_beam(part, _signed(row), row.interval, at, at + row.size, widest, at + row.size))
        at += row.size
    result.append(
        replace(_beam(block.total, f"= {printed.total.number}", printed.total.interval, 0.0, printed.total.size, widest, None), total=True)
    )
    return tuple(result)


def _beam(part: Part, number: str, interval: str, begin: float, end: float, widest: float, join: float | None) -> Beam:
    low, high = sorted((begin, end))
    bounds = _ends(part)
    shift = end - _size(part)  # the interval of a part lies around its end
    per_cent = 94.0 / widest
    return Beam(
        text=part.text,
        swatch=SWATCHES.get(part.role, "grey"),
        left=max(low, 0.0) * per_cent,
        width=(high - max(low, 0.0)) * per_cent,
        ends=None if bounds is None else tuple(min(max((bound + shift) * per_cent, 0.0), 100.0) for bound in bounds),  # type: ignore[arg-type]
        join=None if join is None else join * per_cent,
        number=number,
        interval=interval,
        data=Place(cell=part.number, head="", number=True, name=False).data,
    )


def _size(part: Part) -> float:
    return _numbers(part.number)[0] or 0.0


def _ends(part: Part) -> tuple[float, float] | None:
    _, low, high = _numbers(part.number)
    return None if low is None or high is None else (low, high)


def _interval(part: Part) -> str:
    shown = part.number.shown
    return shown.interval if shown.interval.startswith("[") else ""


def _signed(row: SumRow) -> str:
    return row.number if row.number.startswith("−") else f"+{row.number}"
