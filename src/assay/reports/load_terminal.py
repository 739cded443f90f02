"""How does a load look in a terminal?  A line per load in tables that fit the window, and everything shared said once.

Of what is said of many loads with other numbers each, the first stands as an example: the page and the Markdown have all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich import box
from rich.console import JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from assay.estimates.format import count
from assay.reports import grouping, load_tables
from assay.reports.load_tables import Cell, Head, LoadTable
from assay.reports.view import DIMENSION_TITLES, View
from assay.verdict.types import DIMENSIONS

GAP: Final = 3  # between columns
SHOWN: Final = 2  # sentences of a group; the others are counted


def numbers(view: View, width: int) -> list[RenderableType]:
    """Engines at each load, the reasons of what is missing, and the capacity."""
    tables = load_tables.numbers(view)
    parts: list[RenderableType] = []
    for table in tables:
        if len(tables) > 1:
            parts.append(Text(table.title, style="bold"))
        parts += _tables(table, width)
        parts += [_bullet(Text(note)) for note in table.notes]
    return [*parts, *(_bullet(Text(sentence)) for sentence in load_tables.capacity(view))]


def details(view: View, width: int) -> list[RenderableType]:
    """Faults, cold starts, checks of answers, failures by class, replicas."""
    parts: list[RenderableType] = []
    for table in load_tables.details(view):
        parts += [Text(), Text(table.title, style="bold"), *_tables(table, width)]
        parts += [_bullet(Text(note)) for note in table.notes]
    return parts


def of_collectives(view: View, width: int) -> list[RenderableType]:
    """A line per size of every operation, and what a link costs."""
    from assay.reports import collective_tables

    parts: list[RenderableType] = []
    for place, table in enumerate(collective_tables.numbers(view)):
        parts += [*([Text()] if place else []), Text(table.title, style="bold")]
        parts += _tables(table, width) if table.rows else []
        parts += [_bullet(Text(note)) for note in table.notes]
    return parts


def reasons(view: View) -> list[tuple[str, str, str, str]]:
    """(where, dimension, status, sentence) of all that did not pass, the same status of a dimension once."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in view.vector:
        for dimension in DIMENSIONS:
            if (cell := row.cells[dimension]).status != "PASS":
                found.setdefault((dimension, cell.status), {}).setdefault(cell.sentence, []).append(row.column.key)
    return [
        (
            grouping.places(view, [key for keys in told.values() for key in keys]),
            DIMENSION_TITLES[dimension].lower(),
            status,
            _example(view, told),
        )
        for (dimension, status), told in found.items()
    ]


def _example(view: View, told: dict[str, list[str]]) -> str:
    sentence, keys = next(iter(told.items()))
    return sentence if len(told) == 1 else f"for example at {view.label(keys[0])}: {sentence}"


def said(told: Sequence[grouping.Told], most: int = SHOWN) -> str:
    """The sentences of a group in one line, the first few of them."""
    if len(told) == 1:
        return told[0].sentence
    shown = [f"{one.where}: {one.sentence}" for one in told[:most]]
    left = len(told) - most
    return "; ".join((*shown, *([f"and {count(left, 'others')}"] if left > 0 else [])))


def where(told: Sequence[grouping.Told]) -> str:
    """The configurations of a group that has one sentence; empty if each of several names its own."""
    return told[0].where if len(told) == 1 else ""


# ---- tables ------------------------------------------------------------------------------------------------------


def _tables(table: LoadTable, width: int) -> Iterator[RenderableType]:
    """As many columns beside each other as fit; the columns that name a row stand in every part."""
    texts = [[_text(cell) for cell in row] for row in table.rows]
    widths = [max(max((len(row[place]) for row in texts), default=0), _longest_word(head)) for place, head in enumerate(table.head)]
    stub = list(range(table.stub))
    for columns in _parts(table.head, widths, table.stub, width):
        places = [*stub, *columns]
        fits = _wide(places, widths) <= width + 1  # else words are broken rather than lines
        yield _part(table, texts, widths if fits else (), places)


def _parts(heads: Sequence[Head], widths: Sequence[int], stub: int, width: int) -> Iterator[list[int]]:
    """Columns that fit; those under one head stay together if they can."""
    room = width - sum(widths[place] + GAP for place in range(stub))
    part: list[int] = []
    for _, own in groupby(range(stub, len(heads)), key=lambda place: heads[place].above or place):
        together = list(own)
        if part and _wide(part + together, widths) > room:
            yield part
            part = []
        for place in together:
            if part and _wide([*part, place], widths) > room:
                yield part
                part = []
            part.append(place)
    if part:
        yield part


def _wide(places: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] + GAP for place in places)


def _part(table: LoadTable, texts: Sequence[Sequence[str]], widths: Sequence[int], places: Sequence[int]) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place in places:
        head = table.head[place]
        name = f"{head.above}\n{head.text}" if head.above else head.text
        side: JustifyMethod = "left" if 0 < place < table.stub else "right"
        drawn.add_column(name, justify=side, vertical="bottom", width=widths[place] if widths else None)
    for row, cells in zip(texts, table.rows, strict=True):
        drawn.add_row(*(Text(row[place], style="dim" if cells[place].absent else "") for place in places))
    return drawn


def _text(cell: Cell) -> str:
    return f"{cell.text} {cell.below}".strip()


def _longest_word(head: Head) -> int:
    return max(len(word) for word in f"{head.above} {head.text}".split()) if head.text or head.above else 0


def _bullet(text: Text) -> Table:
    from assay.reports.hanging import hanging

    return hanging(text)
