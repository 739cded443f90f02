"""How does a collective's bandwidth grow with its size, does the latency-bandwidth model explain it, and which ranks are close?

busbw over the size, both logarithmic, one mark per size with its interval; dashed: T = rounds alpha + share bytes beta, fitted to the
same launches. Marks far below the dashes are sizes at which the engine works differently.

Two heat maps of all ordered pairs of ranks, latency and bandwidth; darker is slower. The range of shades is printed above each map. A pair
without a number has a dash or, with many ranks, an empty cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, number, scale_for, size_words
from fireassay.frames.links.network_probe import busbw, predicted
from fireassay.frames.links.pairs import BYTES_PER_SECOND, Classes, Link, Matrix
from fireassay.metrics.collectives import BUSBW
from fireassay.reports.charts.axes import log_ticks, ticks
from fireassay.reports.charts.model import Axis, Box, Chart, Course, Drawn, Key, Label, Line, Panel, Rule, Spot, named
from fireassay.reports.charts.of_view import workbook
from fireassay.reports.charts.points import CATEGORIES, SHAPES, has_width, point
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell
from fireassay.units import SECONDS

# ---- bandwidth over sizes ---------------------------------------------------------------------------------------------

GIGA: Final = Scale(factor=1e-9, after=" GB/s")
CURVE_POINTS: Final = 40
BESIDE: Final = 1.09  # horizontal factor between lines at the same size, so that intervals do not overlap
MAX_LINES: Final = len(CATEGORIES)
MAX_TICKS: Final = 6
ROOM: Final = 2.0  # factor of bandwidth above and below all values; interval ends beyond it are cut
PLACES: Final = {"in": "in place", "out": "out of place"}
TITLE: Final = "busbw, GB/s"
DEFINED: Final = "Sizes and busbw as nccl-tests defines them; the slowest rank."
KIB: Final = 1024
BASE: Final = 16  # of the axis of sizes in a workbook: 1 KiB, 16 KiB, 256 KiB, 4 MiB


def operations(view: View) -> Iterator[tuple[str, list[Cell], bool]]:
    """Each operation with its cells, and whether it was timed both in and out of place."""
    for op in dict.fromkeys(cell.op for cell in view.collectives):
        cells = [cell for cell in view.collectives if cell.op == op]
        yield op, cells, len({cell.place for cell in cells}) > 1


def line_name(cell: Cell, *, both: bool) -> str:
    """What a line holds: its workers, and its place if there are both."""
    return f"{cell.workers} workers{f', {PLACES[cell.place]}' if both else ''}"


@named("collective-bandwidth")
def collective_bandwidth(view: View) -> Iterator[Chart]:
    """One chart per operation."""
    for op, cells, both in operations(view):
        yield _chart(view, op, cells, both=both)


def _chart(view: View, op: str, every: Sequence[Cell], *, both: bool) -> Chart:
    title, lines, values = f"Bandwidth of {op}", dict[str, list[tuple[Cell, Estimate]]](), list[Estimate]()
    for cell in every:
        if (value := view.estimate(BUSBW.name, cell.name)) is not None:
            lines.setdefault(cell.group, []).append((cell, value))
    if not lines:
        row = view.metric(BUSBW.name)
        notes = dict.fromkeys(shown.note for key, shown in row.cells.items() if f"op={op} " in key) if row is not None else {}
        return Chart(title=title, missing=f"Bandwidth: not measured ({'; '.join(notes) or 'no launch recorded it'}).")
    marks: list[Drawn] = []
    keys: list[Key] = []
    shown = list(lines.items())[:MAX_LINES]
    for index, (group, known) in enumerate(shown):
        name, role, shape = line_name(known[0][0], both=both), CATEGORIES[index], SHAPES[index]
        shift = BESIDE ** (index - (len(shown) - 1) / 2)
        if curve := _curve(view, group, [cell for cell, _ in known]):
            marks.append(Line(points=curve, role=role, dashed=True, thin=True, series=name))
        for cell, value in known:
            where = f"{name}, {size_words(cell.size)}"
            marks.append(point(where, cell.size * shift, value, GIGA, role=role, shape=shape, series=name))
            values.append(value)
        keys.append(Key(mark=shape, role=role, text=name, series=name if len(shown) > 1 else ""))
    if any(has_width(value) for value in values):
        keys.append(Key(mark="point", role="soft", text=f"bars: {view.confidence} interval"))
    if any(view.estimate("alpha", group) is not None for group, _ in shown):
        keys.append(Key(mark="dash", role="soft", text="by the fitted latency and time per byte of a link"))
    left, drawn = len(lines) - len(shown), [cell for _, known in shown for cell, _ in known]
    row = view.metric(BUSBW.name)
    words = (f"{cell.workers} workers, {PLACES[cell.place]}, {size_words(cell.size)}: {row.cells[cell.name].full}" for cell in drawn if row)
    return Chart(
        title=title,
        panels=(Panel(x=_sizes(drawn), y=_bandwidths(values), marks=tuple(marks), title=TITLE),),
        key=tuple(keys),
        caption=f"{DEFINED}{f' {left} further lines are in the table.' if left else ''}",
        description=f"{'; '.join(words)}.",
        quantity=TITLE,
    )


def _sizes(cells: Sequence[Cell]) -> Axis:
    sizes = sorted({cell.size for cell in cells})
    every = max(1, math.ceil(len(sizes) / MAX_TICKS))
    labels = tuple((float(size), size_words(size)) for size in sizes[::-1][::every][::-1])
    return Axis(low=sizes[0] / 1.4, high=sizes[-1] * 1.4, log=True, ticks=labels, title="size", grid=False)


def _bandwidths(values: Sequence[Estimate]) -> Axis:
    low, high = (end(value.value for value in values) * GIGA.factor for end in (min, max))
    low, high = low / ROOM, high * ROOM
    marks = log_ticks(low, high)
    return Axis(low=low, high=high, log=True, ticks=marks if len(marks) > 1 else ticks(low, high))


def _curve(view: View, group: str, cells: Sequence[Cell]) -> tuple[tuple[float, float], ...]:
    alpha, beta = view.estimate("alpha", group), view.estimate("beta", group)
    if alpha is None or beta is None:
        return ()
    op, n, first, last = cells[0].op, cells[0].workers, cells[0].size, cells[-1].size
    sizes = [first * (last / first) ** (index / (CURVE_POINTS - 1)) for index in range(CURVE_POINTS)]
    times = [predicted(op, n, size, alpha.value, beta.value) for size in sizes]
    return tuple((size, busbw(op, n, size, time) * GIGA.factor) for size, time in zip(sizes, times, strict=True))


def in_cells(view: View) -> Iterator[Chart]:
    """For a workbook: a chart per operation, a line per worker count and placement."""
    for op, every, both in operations(view):
        cells = sorted(every, key=lambda cell: (cell.workers, cell.place, cell.size))
        if any(view.estimate(BUSBW.name, cell.name) for cell in cells):
            runs = [(name, tuple(run)) for name, run in groupby(cells, key=lambda cell: line_name(cell, both=both))]
            courses = [
                Course(
                    name=name,
                    quantity=TITLE,
                    spots=tuple(Spot(name=name, x=cell.size / KIB, y=view.value(BUSBW.name, cell.name)) for cell in run),
                    at="Size, KiB",
                    colour=colour,
                    factor=GIGA.factor,
                )
                for colour, (name, run) in enumerate(runs)
            ]
            x, y = Axis(title="size, KiB", base=BASE), Axis(title=TITLE, base=10)
            yield workbook(f"Bus bandwidth of {op}", courses, x, y, stub="Workers", caption=DEFINED)


# ---- maps of pairs ---------------------------------------------------------------------------------------------------

MAX_DRAWN: Final = 64  # ranks; 4096 cells
MAX_WRITTEN: Final = 8  # ranks up to which each cell shows its number
SIDE: Final = 290
PALEST, DARKEST = 0.12, 0.95
DIGITS: Final = 3
MAX_LABELS: Final = 16


@named("topology")
def topology(view: View) -> Iterator[Chart]:
    """The maps of every configuration whose ranks sent messages in pairs."""
    yield from (maps(pairs.matrix, pairs.classes) for pairs in view.pairs)


def maps(matrix: Matrix, seen: Classes) -> Chart:
    """Both maps, with lines between hosts, and the link classes in words."""
    title = f"Ranks and their links, {count(matrix.ranks, 'workers')}"
    if matrix.ranks > MAX_DRAWN:
        many = f"{matrix.ranks} ranks make too many cells; the table holds the slowest pairs, and the record all."
        return Chart(title=title, missing=many)
    latency, bandwidth = ([(link, getattr(link, what)) for link in matrix.links] for what in ("latency", "bandwidth"))
    if not any(isinstance(value, Estimate) for _, value in (*latency, *bandwidth)):
        return Chart(title=title, missing="No pair was measured.")
    classes = f"Pairs are not classified: {seen.refused}." if seen.refused else " ".join(seen.sentences)
    keys = [Key(mark="bar", role="blue", text="slower pairs are darker")]
    keys += [Key(mark="line", role="ink", text="border between hosts")] if _several(matrix) else []
    return Chart(
        title=title,
        panels=(_map(matrix, latency, "latency", dark_is_high=True), _map(matrix, bandwidth, "bandwidth", dark_is_high=False)),
        across=2,
        caption=f"{classes} Over all launches; the intervals of the slowest pairs are in the table.",
        description=_words(matrix, seen),
        key=tuple(keys),
    )


def _several(matrix: Matrix) -> bool:
    return len(set(matrix.hosts)) > 1


def _map(matrix: Matrix, values: Sequence[tuple[Link, Value]], what: str, *, dark_is_high: bool) -> Panel:
    known = [(link, value.value) for link, value in values if isinstance(value, Estimate)]
    unit = next((value.unit for _, value in values if isinstance(value, Estimate)), "")
    scale = scale_for(unit, [value for _, value in known])
    marks: tuple[Drawn, ...] = (*_cells(matrix, known, scale, dark_is_high=dark_is_high), *_missing(matrix, values), *_borders(matrix))
    title = f"{what}, {scale.label.replace(' per ', '/')}{_ends(known, scale)}; from rank (down) to rank (across)"
    return Panel(x=_axis(matrix, across=True), y=_axis(matrix, across=False), marks=marks, height=SIDE, title=title)


def _ends(known: Sequence[tuple[Link, float]], scale: Scale) -> str:
    """The values of the lightest and the darkest cell."""
    low, high = (_number(end(value for _, value in known) * scale.factor) for end in (min, max)) if known else ("", "")
    return "" if low == high else f": {low} to {high}"


def _missing(matrix: Matrix, values: Sequence[tuple[Link, Value]]) -> list[Label]:
    if matrix.ranks > MAX_WRITTEN:
        return []
    without = [link.pair for link, value in values if not isinstance(value, Estimate)]
    return [Label(x=receiver, y=_row(matrix, sender), text="–", anchor="middle", down=4) for sender, receiver in without]


def _row(matrix: Matrix, rank: int) -> float:
    """Rank 0 is the uppermost row."""
    return float(matrix.ranks - 1 - rank)


def _cells(matrix: Matrix, known: Sequence[tuple[Link, float]], scale: Scale, *, dark_is_high: bool) -> list[Box]:
    logs = [math.log(value) for _, value in known]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    boxes = []
    for (link, value), log in zip(known, logs, strict=True):
        part = (log - low) / (high - low) if high > low else 0.0
        shade = PALEST + (DARKEST - PALEST) * (part if dark_is_high else 1.0 - part)
        (sender, receiver), text = link.pair, _number(value * scale.factor)
        row = _row(matrix, sender)
        boxes.append(
            Box(
                left=receiver - 0.5,
                right=receiver + 0.5,
                low=row - 0.5,
                high=row + 0.5,
                shade=round(shade, 3),
                text=text if matrix.ranks <= MAX_WRITTEN else "",
                tip=f"{_label(matrix, sender)} to {_label(matrix, receiver)}\n{text}{scale.after}",
            )
        )
    return boxes


def _label(matrix: Matrix, rank: int) -> str:
    """The rank, and its host if there are several."""
    return f"{rank} {matrix.hosts[rank]}" if _several(matrix) else str(rank)


def _axis(matrix: Matrix, *, across: bool) -> Axis:
    """Ranks, in rows from above; only some have a label if there are many."""
    every = math.ceil(matrix.ranks / MAX_LABELS)
    labels = tuple(
        (float(rank) if across else _row(matrix, rank), str(rank) if across else _label(matrix, rank))
        for rank in range(0, matrix.ranks, every)
    )
    return Axis(low=-0.5, high=matrix.ranks - 0.5, ticks=labels, grid=False, centred=not across)


def _borders(matrix: Matrix) -> list[Rule]:
    """A line wherever the next rank is on another host."""
    if not _several(matrix):
        return []
    cuts = [rank for rank in range(1, matrix.ranks) if matrix.hosts[rank] != matrix.hosts[rank - 1]]
    return [
        *(Rule(x=rank - 0.5, role="ink") for rank in cuts),
        *(Rule(y=_row(matrix, rank) + 0.5, left=-0.5, right=matrix.ranks - 0.5, role="ink") for rank in cuts),
    ]


def _words(matrix: Matrix, seen: Classes) -> str:
    """The spread of each class in words, for screen readers."""
    parts = []
    for name in seen.names or ("all pairs",):
        links = [link for link in matrix.links if not seen.names or seen.kinds[link.pair] == name]
        latency = sorted(link.latency.value for link in links if isinstance(link.latency, Estimate))
        bandwidth = sorted(link.bandwidth.value for link in links if isinstance(link.bandwidth, Estimate))
        if latency and bandwidth:
            parts.append(f"{name}: latency {_range(latency, SECONDS)}, bandwidth {_range(bandwidth, BYTES_PER_SECOND)}.")
    return " ".join(parts)


def _range(values: Sequence[float], unit: str) -> str:
    scale = scale_for(unit, values)
    low, high = (_number(value * scale.factor) for value in (values[0], values[-1]))
    return f"{low}{'' if low == high else f' to {high}'}{scale.after.replace(' per ', '/')}"


def _number(value: float) -> str:
    rounded = float(f"{value:.{DIGITS}g}")  # first: rounding can add a digit, 9.999 to 10.0
    return number(rounded, max(0, DIGITS - 1 - math.floor(math.log10(rounded))))
