"""How does a collective's bandwidth grow with its size, and does the latency-bandwidth model explain it?

busbw over the size, both logarithmic, one mark per size with its interval; dashed: T = rounds alpha + share bytes beta, fitted to the
same launches. Marks far below the dashes are sizes at which the engine works differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import size_words
from fireassay.frames.links import bandwidth
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import CATEGORIES, SHAPES, Drawing, Key, Missing, Rows, above, colour, has_interval, has_width, sized
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell

NAME = "collective-bandwidth"
GIGA: Final = 1e-9
CURVE_POINTS: Final = 40
BESIDE: Final = 1.09  # horizontal factor between lines at the same size, so that intervals do not overlap
HEIGHT: Final = 230
MOST_LINES: Final = len(CATEGORIES)
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
    x, y = _axes([cell for _, cells in shown for cell in cells], values)
    layers: list[vega.Chart] = []
    keys: list[Key] = []
    for index, (group, cells) in enumerate(shown):
        shift = BESIDE ** (index - (len(shown) - 1) / 2)
        layers += _line(view, group, cells, index, x, y, [value.value * GIGA for value in values], shift)
        both = len({cell.place for cell in view.collectives if cell.op == op}) > 1
        name = f"{cells[0].workers} workers{', ' + PLACES[cells[0].place] if both else ''}"
        keys.append(Key(mark=SHAPES[index], role=CATEGORIES[index], text=name))
    if any(has_width(value) for value in values):
        keys.append(Key(mark="line", role="muted", text=f"bars: {view.confidence} interval"))
    if any(view.estimate("alpha", group) is not None for group, _ in shown):
        keys.append(Key(mark="dash", role="muted", text="by the fitted latency and time per byte of a link"))
    left = len(lines) - len(shown)
    return Drawing(
        title=title,
        chart=sized(vega.layer(*layers).properties(title=above("busbw, GB/s")), HEIGHT),
        key=tuple(keys),
        caption=f"Sizes and busbw as nccl-tests defines them; the slowest rank.{f' {left} further lines are in the table.' if left else ''}",
        description=_words(view, shown),
    )


def _axes(cells: Sequence[Cell], values: Sequence[Estimate]) -> tuple[vega.Spec, vega.Channel]:
    sizes = sorted({cell.size for cell in cells})
    every = max(1, math.ceil(len(sizes) / 6))
    ticks = sizes[::-1][::every][::-1]
    x = vega.x(
        "x:Q",
        scale=vega.scale(type="log", base=2, domain=[sizes[0] / 1.4, sizes[-1] * 1.4], nice=False),
        axis=vega.axis(title="size", values=ticks, labelExpr=_labels(ticks), grid=False, labelOverlap=False),
    )
    low = min(value.value for value in values) * GIGA
    high = max(value.value for value in values) * GIGA
    domain = [low / 2.0, high * 2.0]
    decades = [10.0**power for power in range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)]
    inside = [value for value in decades if domain[0] <= value <= domain[1]]
    marks = {"values": inside} if len(inside) > 1 else {"tickCount": 5}

    def y(field: str) -> vega.Spec:
        axis = vega.axis(title=None, format="~g", **marks)
        return vega.y(f"{field}:Q", scale=vega.scale(type="log", domain=domain, nice=False, clamp=True), axis=axis)

    return x, y


def _labels(ticks: Sequence[int]) -> str:
    """A Vega expression that writes 1024 as "1 KiB"."""
    text = "''"
    for size in ticks:
        text = f"datum.value == {size} ? '{size_words(size)}' : {text}"
    return text


def _line(
    view: View, group: str, cells: Sequence[Cell], index: int, x: vega.Spec, y: vega.Channel, all_values: Sequence[float], shift: float
) -> list[vega.Chart]:
    low, high, tint = min(all_values) / 2.0, max(all_values) * 2.0, colour(CATEGORIES[index])
    rows: Rows = []
    for cell in cells:
        value = view.estimate("busbw", cell.name)
        assert value is not None
        ends = (value.low, value.high) if has_interval(value) else (value.value, value.value)
        rows.append(
            {"x": cell.size * shift, "value": value.value * GIGA, "low": max(ends[0] * GIGA, low), "high": min(ends[1] * GIGA, high)}
        )
    base = vega.chart(rows)
    layers = [base.mark("rule", color=tint, strokeWidth=1.6).encode(x=x, y=y("low"), y2="high:Q")]
    layers.append(base.mark("point", shape=SHAPES[index], filled=True, opacity=1.0, size=62, color=tint).encode(x=x, y=y("value")))
    curve = _curve(view, group, cells)
    if curve:
        layers.append(vega.chart(curve).mark("line", color=tint, strokeWidth=1.6, strokeDash=[5, 4]).encode(x=x, y=y("value")))
    return layers


def _curve(view: View, group: str, cells: Sequence[Cell]) -> Rows:
    alpha, beta = view.estimate("alpha", group), view.estimate("beta", group)
    if alpha is None or beta is None:
        return []
    op, n, first, last = cells[0].op, cells[0].workers, cells[0].size, cells[-1].size
    sizes = [first * (last / first) ** (index / (CURVE_POINTS - 1)) for index in range(CURVE_POINTS)]
    times = [bandwidth.predicted(op, n, size, alpha.value, beta.value) for size in sizes]
    return [{"x": size, "value": bandwidth.busbw(op, n, size, time) * GIGA} for size, time in zip(sizes, times, strict=True)]


def _words(view: View, lines: Sequence[tuple[str, list[Cell]]]) -> str:
    row = view.metric("busbw")
    assert row is not None
    parts = [
        f"{cell.workers} workers, {PLACES[cell.place]}, {size_words(cell.size)}: {row.cells[cell.name].full}"
        for _, cells in lines
        for cell in cells
    ]
    return "; ".join(parts) + "."
