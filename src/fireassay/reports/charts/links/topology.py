"""Which ranks are close to each other?

Two heat maps of all ordered pairs, latency and bandwidth; darker is slower. The range of shades is printed above each map. A pair
without a number has a dash or, with many ranks, an empty cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, number, scale_for
from fireassay.frames.links.pairs import BYTES_PER_SECOND, Classes, Link, Matrix
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Key, Missing, Rows, above, colour
from fireassay.reports.view import View
from fireassay.units import SECONDS

NAME = "topology"
TITLE: Final = "Ranks and their links"
MOST_DRAWN: Final = 64  # ranks; 4096 cells
MOST_WRITTEN: Final = 8  # ranks up to which each cell shows its number
SIDE: Final = 290
PALEST, DARKEST = 0.12, 0.95
DIGITS: Final = 3
MOST_LABELS, MOST_SLANTED = 16, 9
WIDEST_LEVEL: Final = 3  # characters of a label that fits under its column


def draw(view: View) -> list[Drawing | Missing]:
    """The maps of every configuration whose ranks sent messages in pairs."""
    return [maps(pairs.matrix, pairs.classes) for pairs in view.pairs]


def maps(matrix: Matrix, seen: Classes) -> Drawing | Missing:
    """Both maps, with lines between hosts, and the link classes in words."""
    title = f"{TITLE}, {count(matrix.ranks, 'workers')}"
    if matrix.ranks > MOST_DRAWN:
        return Missing(
            title=title, reason=f"{matrix.ranks} ranks make too many cells; the table holds the slowest pairs, and the record all."
        )
    latency = [(link, link.latency) for link in matrix.links]
    bandwidth = [(link, link.bandwidth) for link in matrix.links]
    if not any(isinstance(value, Estimate) for _, value in (*latency, *bandwidth)):
        return Missing(title=title, reason="No pair was measured.")
    both = [_map(matrix, latency, "latency", dark_is_high=True), _map(matrix, bandwidth, "bandwidth", dark_is_high=False)]
    return Drawing(
        title=title,
        chart=vega.concat(*both, columns=1, spacing=20),
        caption=f"{_caption(seen)} Over all launches; the intervals of the slowest pairs are in the table.",
        description=_words(matrix, seen),
        key=_key(matrix),
    )


def _map(matrix: Matrix, values: Sequence[tuple[Link, Value]], what: str, *, dark_is_high: bool) -> vega.Chart:
    known = [(link, value.value) for link, value in values if isinstance(value, Estimate)]
    unit = next((value.unit for _, value in values if isinstance(value, Estimate)), "")
    scale = scale_for(unit, [value for _, value in known])
    rows = _cells(matrix, known, scale, dark_is_high=dark_is_high)
    labels = [_label(matrix, rank) for rank in range(matrix.ranks)]
    x, y = _axis_of("receiver", labels), _axis_of("sender", labels)
    base = vega.chart(rows)
    cells = base.mark("rect", color=colour("main"), stroke=colour("paper"), strokeWidth=1)
    layers = [cells.encode(x=x, y=y, opacity=vega.channel("shade:Q", scale=None, legend=None))]
    if matrix.ranks <= MOST_WRITTEN:
        for role, test in (("paper", "datum.shade > 0.55"), ("ink", "datum.shade <= 0.55")):
            text = base.transform_filter(test).mark("text", fontSize=11, color=colour(role))
            layers.append(text.encode(x=x, y=y, text={"field": "text", "type": "nominal"}))
        none = vega.chart(_missing(matrix, values)).mark("text", fontSize=11, color=colour("muted"), text="–")
        layers.append(none.encode(x=x, y=y))
    unit_words = scale.label.replace(" per ", "/")
    return vega.layer(*layers, *_borders(matrix)).properties(
        width=SIDE, height=SIDE, title=above(f"{what}, {unit_words}{_ends(known, scale)}")
    )


def _key(matrix: Matrix) -> tuple[Key, ...]:
    shades = Key(mark="bar", role="main", text="slower pairs are darker")
    hosts = len(set(matrix.hosts)) > 1
    return (shades, Key(mark="line", role="ink", text="border between hosts")) if hosts else (shades,)


def _ends(known: Sequence[tuple[Link, float]], scale: Scale) -> str:
    """The values of the lightest and the darkest cell."""
    low, high = (_number(end(value for _, value in known) * scale.factor) for end in (min, max)) if known else ("", "")
    return "" if low == high else f": {low} to {high}"


def _missing(matrix: Matrix, values: Sequence[tuple[Link, Value]]) -> Rows:
    return [
        {"sender": _label(matrix, link.pair[0]), "receiver": _label(matrix, link.pair[1])}
        for link, value in values
        if not isinstance(value, Estimate)
    ]


def _cells(matrix: Matrix, known: Sequence[tuple[Link, float]], scale: Scale, *, dark_is_high: bool) -> Rows:
    logs = [math.log(value) for _, value in known]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    rows: Rows = []
    for (link, value), log in zip(known, logs, strict=True):
        part = (log - low) / (high - low) if high > low else 0.0
        shade = PALEST + (DARKEST - PALEST) * (part if dark_is_high else 1.0 - part)
        rows.append(
            {
                "sender": _label(matrix, link.pair[0]),
                "receiver": _label(matrix, link.pair[1]),
                "shade": round(shade, 4),
                "text": _number(value * scale.factor),
            }
        )
    return rows


def _label(matrix: Matrix, rank: int) -> str:
    """The rank, and its host if there are several."""
    return f"{rank} {matrix.hosts[rank]}" if len(set(matrix.hosts)) > 1 else str(rank)


def _axis_of(field: str, labels: Sequence[str]) -> vega.Spec:
    slanted = field == "receiver" and max(map(len, labels)) > WIDEST_LEVEL
    every = math.ceil(len(labels) / (MOST_SLANTED if slanted else MOST_LABELS))
    shown = list(labels)[::every]
    scale = vega.scale(domain=list(labels), paddingInner=0, paddingOuter=0)
    axis = vega.axis(title="to rank" if field == "receiver" else "from rank", values=shown, grid=False, labelAngle=-45 if slanted else 0)
    return vega.channel(f"{field}:O", scale=scale, axis=axis)


def _borders(matrix: Matrix) -> list[vega.Chart]:
    """A line wherever the next rank is on another host."""
    if len(set(matrix.hosts)) < 2:
        return []
    step = SIDE / matrix.ranks
    cuts = [rank for rank in range(1, matrix.ranks) if matrix.hosts[rank] != matrix.hosts[rank - 1]]
    rows = [{"at": step * rank} for rank in cuts]
    look = {"strokeWidth": 2, "color": colour("ink")}
    down = vega.chart(rows).mark("rule", **look).encode(x={"field": "at", "type": "quantitative", "scale": None})
    level = vega.chart(rows).mark("rule", **look).encode(y={"field": "at", "type": "quantitative", "scale": None})
    return [down, level]


def _caption(seen: Classes) -> str:
    if seen.refused:
        return f"Pairs are not classified: {seen.refused}."
    return " ".join(seen.sentences)


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
