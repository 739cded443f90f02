"""How far is the measured speedup from the ideal, and which law explains the gap?

The law is the one preferred by AICc on the launches, with the interval of its curve; dashed where it is a prediction, up to at most
twice the largest measured count. If no law can be checked: Amdahl's with the fitted serial fraction.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fireassay.estimates.estimate import Estimate
from fireassay.metrics.metric import ALL
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    HEIGHT,
    Drawing,
    Key,
    Missing,
    Rows,
    WorkerAxis,
    above,
    absence,
    colour,
    dot_key,
    dots,
    estimates,
    in_words,
    interval_key,
    interval_rows,
    launch_dots,
    of_whole,
    points,
    sized,
    top_of,
    vertical,
    worker_axis,
)
from fireassay.reports.series.training import CurvePoint, ScalingCurve
from fireassay.reports.view import View
from fireassay.stats.models.scaling import amdahl_speedup

NAME = "speedup"
TITLE = "Speedup against the ideal"
CURVE_POINTS = 60


def draw(view: View) -> Drawing | Missing:
    """Speedup with intervals and launch dots, the ideal line, and the fitted law."""
    row = view.metric("speedup")
    speedups = estimates(view, row)
    if row is None or not speedups:
        return Missing(title=TITLE, reason=absence(view, row, "Speedup"))
    axis = _axis(view)
    base = next(column.workers for column in view.columns if column.key == view.base)
    top = max(top_of(speedups.values(), 1.0), max(axis.levels) / base * 1.05)
    low = min(0.9 * min(v.value for v in speedups.values()), min(axis.levels) / base * 0.9) if axis.logarithmic else 0.0
    x, y = axis.channel(), vertical(low, top, logarithmic=axis.logarithmic)
    rows = interval_rows(view, speedups, 1.0, low, top)
    law = view.series.scaling
    curve = _amdahl(view, axis, x, y) if law is None else _law(law, top, x, y)
    layers = [*curve, _ideal(axis, base, x, y)]
    layers += [dots(launch_dots(speedups, view, axis, 1.0, top=top), x, y), *points(rows, x, y)]
    return Drawing(
        title=TITLE,
        chart=sized(vega.layer(*layers).properties(title=above("speedup")), HEIGHT),
        caption=_model_words(view) or "No model is fitted: the record holds no serial fraction.",
        description=f"{in_words(view, row)} {_model_words(view)}".strip(),
        key=_key(view, speedups),
    )


def _key(view: View, speedups: dict[str, Estimate]) -> tuple[Key, ...]:
    keys = [*interval_key(speedups.values(), view, "speedup"), *dot_key(speedups.values(), "one block")]
    keys.append(Key(mark="dash", role="muted", text="ideal"))
    law = view.series.scaling
    if law is not None:
        keys.append(Key(mark="line", role="second", text=f"{_typeset(law.law)}, fitted{_band_words(law, view)}"))
        keys += [Key(mark="dash", role="second", text="the same, predicted")] if law.beyond else []
    elif _fraction(view) is not None:
        keys.append(Key(mark="line", role="second", text="Amdahl’s law, fitted"))
    return tuple(keys)


def _axis(view: View) -> WorkerAxis:
    """The worker axis, up to the end of the prediction."""
    law, axis = view.series.scaling, worker_axis(view)
    return replace(axis, reach=law.beyond[-1].workers) if law is not None and law.beyond else axis


def _typeset(law: str) -> str:
    return law.removeprefix("the ").replace("'", "’")


def _band_words(law: ScalingCurve, view: View) -> str:
    return "" if law.measured[0].low is None else f", band: {view.confidence} interval"


def _law(law: ScalingCurve, top: float, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    """Band and line over the measured range, dashed beyond it."""
    layers = []
    for part, dash in ((law.measured, [1, 0]), (law.beyond, [5, 4])):
        rows = [_curve_row(point, top) for point in part if point.speedup <= top]
        base = vega.chart(rows)
        if rows and part[0].low is not None:
            layers.append(base.mark("area", opacity=0.18, color=colour("second")).encode(x=x, y=y("low"), y2="high:Q"))
        if rows:
            layers.append(base.mark("line", strokeWidth=2, strokeDash=dash, color=colour("second")).encode(x=x, y=y("y")))
    return layers


def _curve_row(point: CurvePoint, top: float) -> dict[str, float | None]:
    high = None if point.high is None else min(point.high, top)
    return {"x": point.workers, "y": point.speedup, "low": point.low, "high": high}


def _ideal(axis: WorkerAxis, base: int, x: vega.Spec, y: vega.Channel) -> vega.Chart:
    ends: Rows = [{"x": level, "y": level / base} for level in (min(axis.levels), max(axis.levels))]
    line = vega.chart(ends).mark("line", strokeDash=[6, 4], strokeWidth=1.5, color=colour("muted"))
    return line.encode(x=x, y=y("y"))


def _fraction(view: View) -> Estimate | None:
    """The serial fraction if within 0..1; a fit outside means that Amdahl's law does not describe the data."""
    value = view.estimate("serial_fraction", ALL)
    return value if value is not None and 0.0 <= value.value <= 1.0 else None


def amdahl(serial: float, workers: float) -> float:
    """Amdahl's law, S(p) = 1 / (s + (1 - s) / p), with s clamped to 0..1."""
    return amdahl_speedup(min(serial, 1.0), workers)


def _amdahl(view: View, axis: WorkerAxis, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    fraction = _fraction(view)
    if fraction is None:
        return []
    first, last = math.log(min(axis.levels)), math.log(max(axis.levels))
    places = [math.exp(first + (last - first) * i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
    rows: Rows = [
        {"x": p, "y": amdahl(fraction.value, p), "low": amdahl(fraction.high, p), "high": amdahl(fraction.low, p)} for p in places
    ]
    base = vega.chart(rows)
    line = base.mark("line", strokeWidth=2, color=colour("second")).encode(x=x, y=y("y"))
    if not (math.isfinite(fraction.low) and math.isfinite(fraction.high)):
        return [line]
    band = base.mark("area", opacity=0.18, color=colour("second"))
    return [band.encode(x=x, y=y("low"), y2="high:Q"), line]


def _model_words(view: View) -> str:
    """The fitted serial fraction and its ceiling, or why there is none."""
    law = view.series.scaling
    if law is None:
        return of_whole(view, "serial_fraction", "amdahl_ceiling")
    words = of_whole(view, "serial_fraction", "amdahl_ceiling", "usl_peak", "held_out_error")
    limit = f"{law.limit[0].upper()}{law.limit[1:]}." if law.limit else ""
    return f"{words} Law: {_typeset(law.why)}. {limit}".strip()
