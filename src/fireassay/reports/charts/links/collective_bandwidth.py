"""How does a collective's bandwidth grow with its size, and does the latency-bandwidth model explain it?

busbw over the size, both logarithmic, one mark per size with its interval; dashed: T = rounds alpha + share bytes beta, fitted to the
same launches. Marks far below the dashes are sizes at which the engine works differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, size_words
from fireassay.frames.links import bandwidth
from fireassay.reports.charts.chart import CATEGORIES, SHAPES, Drawing, Key, Missing, has_width, log_ticks, point, ticks
from fireassay.reports.charts.marks import Axis, Line, Mark, Panel
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell

NAME = "collective-bandwidth"
GIGA: Final = Scale(factor=1e-9, after=" GB/s")
CURVE_POINTS: Final = 40
BESIDE: Final = 1.09  # horizontal factor between lines at the same size, so that intervals do not overlap
MOST_LINES: Final = len(CATEGORIES)
MOST_TICKS: Final = 6
ROOM: Final = 2.0  # factor of bandwidth above and below all values; interval ends beyond it are cut
PLACES: Final = {"in": "in place", "out": "out of place"}


def draw(view: View) -> list[Drawing | Missing]:
    """One chart per operation with bandwidths."""
    operations = dict.fromkeys(cell.op for cell in view.collectives)
    return [_of(view, op) for op in operations]


def _of(view: View, op: str) -> Drawing | Missing:
    title = f"Bandwidth of {op}"
    lines: dict[str, list[Cell]] = {}
    for cell in view.collectives:
        if cell.op == op and view.estimate("busbw", cell.name) is not None:
            lines.setdefault(cell.group, []).append(cell)
    if not lines:
        row = view.metric("busbw")
        notes = dict.fromkeys(shown.note for key, shown in row.cells.items() if f"op={op} " in key) if row is not None else {}
        return Missing(title=title, reason=f"Bandwidth: not measured ({'; '.join(notes) or 'no launch recorded it'}).")
    shown = list(lines.items())[:MOST_LINES]
    values = [value for _, cells in shown for cell in cells if (value := view.estimate("busbw", cell.name)) is not None]
    both = len({cell.place for cell in view.collectives if cell.op == op}) > 1
    marks: list[Mark] = []
    keys: list[Key] = []
    for index, (group, cells) in enumerate(shown):
        name = f"{cells[0].workers} workers{', ' + PLACES[cells[0].place] if both else ''}"
        marks += _line(view, name, group, cells, index, BESIDE ** (index - (len(shown) - 1) / 2))
        keys.append(Key(mark=SHAPES[index], role=CATEGORIES[index], text=name, series=name if len(shown) > 1 else ""))
    if any(has_width(value) for value in values):
        keys.append(Key(mark="point", role="soft", text=f"bars: {view.confidence} interval"))
    if any(view.estimate("alpha", group) is not None for group, _ in shown):
        keys.append(Key(mark="dash", role="soft", text="by the fitted latency and time per byte of a link"))
    left = len(lines) - len(shown)
    panel = Panel(x=_sizes([cell for _, cells in shown for cell in cells]), y=_bandwidths(values), marks=tuple(marks), title="busbw, GB/s")
    return Drawing(
        title=title,
        panels=(panel,),
        key=tuple(keys),
        caption=f"Sizes and busbw as nccl-tests defines them; the slowest rank.{f' {left} further lines are in the table.' if left else ''}",
        description=_words(view, shown),
        quantity="busbw, GB/s",
    )


def _sizes(cells: Sequence[Cell]) -> Axis:
    sizes = sorted({cell.size for cell in cells})
    every = max(1, math.ceil(len(sizes) / MOST_TICKS))
    chosen = sizes[::-1][::every][::-1]
    return Axis(
        low=sizes[0] / 1.4,
        high=sizes[-1] * 1.4,
        log=True,
        ticks=tuple((float(size), size_words(size)) for size in chosen),
        title="size",
        grid=False,
    )


def _bandwidths(values: Sequence[Estimate]) -> Axis:
    low, high = (end(value.value for value in values) * GIGA.factor for end in (min, max))
    low, high = low / ROOM, high * ROOM
    marks = log_ticks(low, high)
    return Axis(low=low, high=high, log=True, ticks=marks if len(marks) > 1 else ticks(low, high))


def _line(view: View, name: str, group: str, cells: Sequence[Cell], index: int, shift: float) -> list[Mark]:
    """The points of one line, and its fitted curve."""
    marks: list[Mark] = []
    role, shape = CATEGORIES[index], SHAPES[index]
    curve = _curve(view, group, cells)
    if curve:
        marks.append(Line(points=curve, role=role, dashed=True, thin=True, series=name))
    for cell in cells:
        value = view.estimate("busbw", cell.name)
        assert value is not None
        where = f"{name}, {size_words(cell.size)}"
        marks.append(point(where, cell.size * shift, value, GIGA, role=role, shape=shape, series=name))
    return marks


def _curve(view: View, group: str, cells: Sequence[Cell]) -> tuple[tuple[float, float], ...]:
    alpha, beta = view.estimate("alpha", group), view.estimate("beta", group)
    if alpha is None or beta is None:
        return ()
    op, n, first, last = cells[0].op, cells[0].workers, cells[0].size, cells[-1].size
    sizes = [first * (last / first) ** (index / (CURVE_POINTS - 1)) for index in range(CURVE_POINTS)]
    times = [bandwidth.predicted(op, n, size, alpha.value, beta.value) for size in sizes]
    return tuple((size, bandwidth.busbw(op, n, size, time) * GIGA.factor) for size, time in zip(sizes, times, strict=True))


def _words(view: View, lines: Sequence[tuple[str, list[Cell]]]) -> str:
    row = view.metric("busbw")
    assert row is not None
    parts = [
        f"{cell.workers} workers, {PLACES[cell.place]}, {size_words(cell.size)}: {row.cells[cell.name].full}"
        for _, cells in lines
        for cell in cells
    ]
    return "; ".join(parts) + "."
