"""Which tables does a report on collectives have?  A line for every size, as nccl-tests prints them, and the cost of links.

Times are in microseconds and bandwidths in decimal GB/s, as in nccl-tests; the bytes are those actually sent.  What the engine does not
offer is reported once, in the engine's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import GIGABYTES, Scale, count, size_words
from fireassay.kinds.collectives import pair_tables
from fireassay.metrics.collectives import ALGBW, ALPHA, BETA, BUSBW, COLLECTIVE_ERRORS, COLLECTIVE_TIME, CROSSOVER_SIZE
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.page import Head, Table, Words, number
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell

MICROSECONDS: Final = Scale(factor=1e6, after=" µs")
BYTES: Final = Scale(factor=1.0, after=" B")
COUNTS: Final = Scale(factor=1.0)
COLUMNS: Final = (
    ("time, µs", COLLECTIVE_TIME.name, MICROSECONDS),
    ("algbw, GB/s", ALGBW.name, GIGABYTES),
    ("busbw, GB/s", BUSBW.name, GIGABYTES),
    ("wrong calls", COLLECTIVE_ERRORS.name, COUNTS),
)
PLACES: Final = {"in": "in place", "out": "out of place"}


def numbers(view: View) -> tuple[Table, ...]:
    """A table for each operation, then that of the links."""
    operations = tuple(dict.fromkeys(cell.op for cell in view.collectives))
    tables = [_of_operation(view, op, index) for index, op in enumerate(operations, 1)]
    return (*(table for table in tables if table is not None), *_links(view), *pair_tables.tables(view.pairs))


def _of_operation(view: View, op: str, index: int) -> Table | None:
    cells = [cell for cell in view.collectives if cell.op == op]
    known = [cell for cell in cells if isinstance(view.value(COLLECTIVE_TIME.name, cell.name), Estimate)]
    notes = tuple(_notes(view, [cell for cell in cells if cell not in known]))
    several = len({cell.place for cell in cells}) > 1
    order = sorted(known, key=lambda cell: (cell.workers, cell.place != "out", cell.nbytes))
    rounded = any(cell.nbytes != cell.size for cell in known)
    stub = (
        Head(text="Workers"),
        *((Head(text="Placement"),) if several else ()),
        Head(text="Size"),
        *((Head(text="bytes"),) if rounded else ()),
    )
    rows = tuple(
        (
            *_texts(
                str(cell.workers),
                *((PLACES[cell.place],) if several else ()),
                size_words(cell.size),
                *((str(cell.nbytes),) if rounded else ()),
            ),
            *(_cell(view.value(metric, cell.name), scale) for _, metric, scale in COLUMNS),
        )
        for cell in order
    )
    title = op if several or not cells else f"{op}, {PLACES[cells[0].place]}"
    head = (*stub, *(Head(text=text) for text, _, _ in COLUMNS))
    return Table(inline=True, name=f"collective-{index}", title=title, stub=len(stub), heads=head, rows=rows, notes=notes)


def _texts(*texts: str) -> tuple[TableCell, ...]:
    return tuple(Words(text=text) for text in texts)


def _cell(value: Value | None, scale: Scale) -> TableCell:
    return None if value is None else number(value, scale, bare=True)


def _notes(view: View, missing: Sequence[Cell]) -> Iterator[str]:
    """Why cells have no number, each reason once."""
    reasons: dict[str, list[Cell]] = {}
    for cell in missing:
        value = view.value(COLLECTIVE_TIME.name, cell.name)
        if isinstance(value, Absent):
            reasons.setdefault(value.detail, []).append(cell)
    for why, cells in reasons.items():
        where = dict.fromkeys(f"{count(cell.workers, 'workers')}, {PLACES[cell.place]}" for cell in cells)
        yield f"Not measured ({'; '.join(where)}; {count(len(cells), 'sizes')}): {why}."


def _links(view: View) -> tuple[Table, ...]:
    """alpha, 1/beta and the crossover size of each operation, or why there are none."""
    groups = {cell.group: cell for cell in view.collectives}
    fitted = (ALPHA.name, BETA.name, CROSSOVER_SIZE.name)
    known = {name: cell for name, cell in groups.items() if any(isinstance(view.value(metric, name), Estimate) for metric in fitted)}
    reasons: dict[str, dict[str, None]] = {}
    for name, cell in groups.items():
        for metric in fitted:
            value = view.value(metric, name)
            if isinstance(value, Absent) and value.reason == "insufficient":
                reasons.setdefault(value.detail, {})[f"{cell.op} on {cell.workers}"] = None
    notes = tuple(f"Not fitted ({', '.join(where)}): {why}." for why, where in reasons.items())
    if not known and not notes:
        return ()
    rows = tuple(
        (
            *_texts(cell.op, str(cell.workers), PLACES[cell.place]),
            _cell(view.value(ALPHA.name, name), MICROSECONDS),
            _cell(inverse(view.value(BETA.name, name)), GIGABYTES),
            _cell(view.value(CROSSOVER_SIZE.name, name), BYTES),
        )
        for name, cell in known.items()
    )
    head = ("Operation", "Workers", "Placement", "alpha, µs", "1/beta, GB/s", "crossover, B")
    note = "T = rounds alpha + share bytes beta of a ring's links, fitted in every launch; below the crossover size half of the time or more is latency."
    return (
        Table(
            inline=True,
            name="links",
            title="Cost of a link",
            stub=3,
            heads=tuple(Head(text=text) for text in head),
            rows=rows,
            notes=(*((note,) if known else ()), *notes),
        ),
    )


def inverse(value: Value | None) -> Value | None:
    """Bytes per second for seconds per byte."""
    if not isinstance(value, Estimate):
        return value
    low, high = (1.0 / end if end > 0 else float("inf") for end in (value.high, value.low))
    return replace(
        value,
        value=1.0 / value.value,
        low=low,
        high=high,
        unit="B/s",
        launch_values=tuple(1.0 / launch_value for launch_value in value.launch_values),
    )
