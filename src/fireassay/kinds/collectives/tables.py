"""Which tables does a report on collectives have?  A line for every size, as nccl-tests prints them, the cost of links, and pairs of ranks.

Times are in microseconds and bandwidths in decimal GB/s, as in nccl-tests; the bytes are those actually sent.  What the engine does not
offer is reported once, in the engine's own words.  With up to four ranks, every ordered pair has a row with its intervals; with more, as
many of the slowest do. The record holds all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import GIGABYTES, Scale, count, show, size_words
from fireassay.frames.links.pairs import Link, Pairs
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
MAX_ROWS: Final = 12


def numbers(view: View) -> tuple[Table, ...]:
    """A table for each operation, then that of the links."""
    operations = tuple(dict.fromkeys(cell.op for cell in view.collectives))
    tables = [_of_operation(view, op, index) for index, op in enumerate(operations, 1)]
    return (*(table for table in tables if table is not None), *_links(view), *pair_tables(view.pairs))


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


def pair_tables(several: Sequence[Pairs]) -> tuple[Table, ...]:
    """Classes and pairs of every configuration."""
    return tuple(table for position, pairs in enumerate(several, 1) for table in _of(pairs, position))


def _of(pairs: Pairs, position: int) -> tuple[Table, ...]:
    seen, ranks = pairs.classes, count(pairs.matrix.ranks, "workers")
    where = tuple(Head(text=text) for text in ("latency, µs", "bandwidth, GB/s"))
    refused = (f"Pairs are not classified: {seen.refused}.",) if seen.refused else ()
    rows = tuple(_class_row(pairs, name) for name in seen.names)
    by_class = Table(
        inline=True,
        name=f"pair-classes-{position}",
        title=f"Classes of pairs, {ranks}",
        stub=2,
        rows=rows,
        notes=(*seen.sentences, *refused, *_wrong(pairs)),
        heads=(Head(text="Pairs"), Head(text="ordered pairs"), *(Head(text=f"{head.text}, slowest and fastest") for head in where)),
    )
    links = sorted(pairs.matrix.links, key=_slowness)[:MAX_ROWS]
    left = len(pairs.matrix.links) - len(links)
    notes = (f"{count(left, 'pairs')} more were faster; the record holds all.",) if left else ()
    why = dict.fromkeys(link.bandwidth.detail for link in links if isinstance(link.bandwidth, Absent))
    by_pair = Table(
        inline=True,
        name=f"pairs-{position}",
        title=f"Pairs, {ranks}",
        stub=2,
        notes=(*notes, *(f"No bandwidth where {reason}." for reason in why)),
        heads=(Head(text="From, to"), Head(text="class"), *where),
        rows=tuple(_pair_row(pairs, link) for link in links),
    )
    return by_class, by_pair


def _slowness(link: Link) -> tuple[float, float]:
    """Sorts what has no bandwidth first, then by bandwidth ascending."""
    bandwidth = link.bandwidth.value if isinstance(link.bandwidth, Estimate) else 0.0
    return bandwidth, -(link.latency.value if isinstance(link.latency, Estimate) else 0.0)


def _class_row(pairs: Pairs, name: str) -> tuple[TableCell, ...]:
    links = [link for link in pairs.matrix.links if pairs.classes.kinds[link.pair] == name]
    latencies = _ends([link.latency for link in links], slowest_is_high=True)
    bandwidths = _ends([link.bandwidth for link in links], slowest_is_high=False)
    return (Words(text=name), Words(text=str(len(links))), _range(latencies, MICROSECONDS), _range(bandwidths, GIGABYTES))


def _ends(values: Sequence[Value], *, slowest_is_high: bool) -> tuple[Estimate, ...]:
    """The slowest and the fastest."""
    known = sorted((value for value in values if isinstance(value, Estimate)), key=lambda value: value.value)
    if not known:
        return ()
    return (known[-1], known[0]) if slowest_is_high else (known[0], known[-1])


def _range(ends: tuple[Estimate, ...], scale: Scale) -> TableCell:
    texts = dict.fromkeys(show(end, scale).text.removesuffix(scale.after) for end in ends)
    return Words(text=" to ".join(texts) or "–", tone="plain" if ends else "absent")


def _pair_row(pairs: Pairs, link: Link) -> tuple[TableCell, ...]:
    kind = pairs.classes.kinds.get(link.pair, "–")
    return (
        Words(text=f"{link.pair[0]} → {link.pair[1]}"),
        Words(text=kind),
        number(link.latency, MICROSECONDS, bare=True),
        number(link.bandwidth, GIGABYTES, bare=True),
    )


def _wrong(pairs: Pairs) -> tuple[str, ...]:
    bad = [f"{link.pair[0]} → {link.pair[1]} ({count(link.wrong, 'bytes')})" for link in pairs.matrix.links if link.wrong]
    return (f"WRONG DATA arrived on {', '.join(bad)}.",) if bad else ()
