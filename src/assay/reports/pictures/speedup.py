"""How far is the measured speedup from the ideal, and does one serial fraction explain the gap?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import altair as alt

from assay.metrics.base import ALL
from assay.metrics.estimate import Estimate
from assay.reports.pictures.base import (
    HEIGHT,
    Drawing,
    Key,
    Missing,
    Rows,
    WorkerAxis,
    above,
    absence,
    colour,
    data,
    dot_key,
    dots,
    estimates,
    in_words,
    interval_key,
    interval_row,
    launch_dots,
    number_axis,
    points,
    sized,
    top_of,
    worker_axis,
)  # fmt: skip
from assay.reports.view import View

TITLE = "Speedup against the ideal"
CURVE_POINTS = 60


def draw(view: View) -> Drawing | Missing:
    """Speedup with intervals and launch dots, the ideal line, and Amdahl's law with its fitted serial fraction."""
    row = view.metric("speedup")
    found = estimates(view, row)
    if row is None or not found:
        return Missing(title=TITLE, reason=absence(view, row, "Speedup"))
    axis, workers = worker_axis(view), {column.key: column.workers for column in view.columns}
    base = workers[view.base]
    top = max(top_of(found.values(), 1.0), max(workers.values()) / base * 1.05)
    low = (
        min(0.9 * min(v.value for v in found.values()), min(workers.values()) / base * 0.9) if axis.logarithmic else 0.0
    )

    def y(field: str) -> alt.Y:
        scale = alt.Scale(domain=[low, top], nice=False)
        if axis.logarithmic:
            scale = alt.Scale(type="log", base=2, domain=[low, top], nice=False)
        return alt.Y(f"{field}:Q", scale=scale, axis=number_axis(title=None))

    x = axis.channel()
    rows = [{"x": workers[key], **interval_row(value, 1.0, low, top)} for key, value in found.items()]
    layers = [*_amdahl(view, axis, x, y), _ideal(axis, base, x, y)]
    layers += [dots(launch_dots(found, view, axis, 1.0, top=top), x, y), *points(rows, x, y)]
    return Drawing(
        title=TITLE, chart=sized(alt.layer(*layers).properties(title=above("speedup")), HEIGHT),
        caption=_caption(view), description=f"{in_words(view, row)} {_model_words(view)}".strip(),
        key=_key(view, found),
    )  # fmt: skip


def _key(view: View, found: dict[str, Estimate]) -> tuple[Key, ...]:
    keys = [*interval_key(found.values(), view, "speedup"), *dot_key(found.values(), "one block")]
    keys.append(Key(mark="dash", role="muted", text="ideal"))
    if _fraction(view) is not None:
        keys.append(Key(mark="line", role="second", text="Amdahl’s law, fitted"))
    return tuple(keys)


def _ideal(axis: WorkerAxis, base: int, x: alt.X, y: Callable[[str], alt.Y]) -> Any:
    ends: Rows = [{"x": level, "y": level / base} for level in (min(axis.levels), max(axis.levels))]
    line = alt.Chart(data(ends)).mark_line(strokeDash=[6, 4], strokeWidth=1.5, color=colour("muted"))
    return line.encode(x=x, y=y("y"))


def _fraction(view: View) -> Estimate | None:
    """The serial fraction if it is one: a fit outside 0..1 says that Amdahl's law does not describe these data."""
    row = view.metric("serial_fraction")
    value = row.cells[ALL].value if row is not None and ALL in row.cells else None
    return value if isinstance(value, Estimate) and 0.0 <= value.value <= 1.0 else None


def amdahl(serial: float, workers: float) -> float:
    """Amdahl's law, S(p) = 1 / (s + (1 - s) / p), with s held to 0..1."""
    held = min(max(serial, 0.0), 1.0)
    return 1.0 / (held + (1.0 - held) / workers)


def _amdahl(view: View, axis: WorkerAxis, x: alt.X, y: Callable[[str], alt.Y]) -> list[Any]:
    fraction = _fraction(view)
    if fraction is None:
        return []
    first, last = math.log(min(axis.levels)), math.log(max(axis.levels))
    places = [math.exp(first + (last - first) * i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
    rows: Rows = [
        {"x": p, "y": amdahl(fraction.value, p), "low": amdahl(fraction.high, p), "high": amdahl(fraction.low, p)}
        for p in places
    ]
    base = alt.Chart(data(rows))
    line = base.mark_line(strokeWidth=2, color=colour("second")).encode(x=x, y=y("y"))
    if not (math.isfinite(fraction.low) and math.isfinite(fraction.high)):
        return [line]
    band = base.mark_area(opacity=0.18, color=colour("second"))
    return [band.encode(x=x, y=y("low"), y2="high:Q"), line]


def _model_words(view: View) -> str:
    """The fitted fraction and its ceiling, or why there is none."""
    rows = [view.metric(name) for name in ("serial_fraction", "amdahl_ceiling")]
    return " ".join(f"{row.title}: {row.cells[ALL].full}." for row in rows if row is not None and ALL in row.cells)


def _caption(view: View) -> str:
    words = _model_words(view)
    return words or "No model is fitted: the record holds no serial fraction."
