"""How does a collective's bandwidth grow with its size, and does the latency-bandwidth model explain it?

busbw over the size, both logarithmic, one mark per size with its interval; dashed: T = rounds alpha + share bytes beta, fitted to the
same launches. Marks far below the dashes are sizes at which the engine works differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, size_words
from fireassay.frames.links import bandwidth
from fireassay.metrics.collectives import BUSBW
from fireassay.reports.charts.axes import log_ticks, ticks
from fireassay.reports.charts.model import Axis, Chart, Course, Drawn, Key, Line, Panel, Spot, named
from fireassay.reports.charts.of_view import workbook
from fireassay.reports.charts.points import CATEGORIES, SHAPES, has_width, point
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell

GIGA: Final = Scale(factor=1e-9, after=" GB/s")
CURVE_POINTS: Final = 40
BESIDE: Final = 1.09  # horizontal factor between lines at the same size, so that intervals do not overlap
MOST_LINES: Final = len(CATEGORIES)
MOST_TICKS: Final = 6
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
    shown = list(lines.items())[:MOST_LINES]
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
    every = max(1, math.ceil(len(sizes) / MOST_TICKS))
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
    times = [bandwidth.predicted(op, n, size, alpha.value, beta.value) for size in sizes]
    return tuple((size, bandwidth.busbw(op, n, size, time) * GIGA.factor) for size, time in zip(sizes, times, strict=True))


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
