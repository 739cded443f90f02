"""Do more workers pay?  Speedup and efficiency with the gate as a region, single blocks, the ideal, and the law that explains the gap.

The law is the one preferred by AICc on the launches, with the interval of its curve; dashed where it is a prediction, up to at most
twice the largest measured count. If no law can be checked: Amdahl's with the fitted serial fraction. It starts switched off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, asked, show
from fireassay.metrics.metric import ALL
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    absence,
    block_dots,
    common_scale,
    dot_key,
    estimates,
    in_words,
    interval_key,
    linear,
    logarithmic,
    of_marks,
    of_whole,
    point,
    top_of,
    worker_axis,
)
from fireassay.reports.charts.marks import Area, Axis, Band, Dot, Line, Mark, Panel, Role
from fireassay.reports.series.training import ScalingCurve
from fireassay.reports.view import View
from fireassay.stats.models.scaling import amdahl_speedup

NAME = "speedup"
TITLE = "Do more workers pay?"
CURVE_POINTS: Final = 40
HEIGHT: Final = 240
MOST_OUTCOMES: Final = 4  # levels whose outcome fits below the axis
PERCENT: Final = Scale(factor=100.0, after=" %")
OUTCOMES: Final[Mapping[str, tuple[Role, str]]] = {
    "PASS": ("pass", "✓ holds"),
    "FAIL": ("fail", "✕ fails"),
    "INCONCLUSIVE": ("open", "? undecided"),
}


def draw(view: View) -> Drawing | Missing:
    """Two views of one chart: the speedup, and the efficiency against its gate."""
    row, share = view.metric("speedup"), view.metric("efficiency")
    speedups, efficiencies = estimates(view, row), estimates(view, share)
    if row is None or not speedups:
        return Missing(title=TITLE, reason=absence(view, row, "Speedup"))
    panels = [_speedup(view, speedups)]
    panels += [_efficiency(view, efficiencies)] if share is not None and efficiencies else []
    words = " ".join(in_words(view, shown) for shown in (row, share) if shown is not None)
    return Drawing(
        title=TITLE,
        panels=tuple(panels),
        caption=_model_words(view),
        description=words,
        key=_key(view, speedups, panels),
        quantity="speedup, or efficiency",
    )


def _speedup(view: View, speedups: Mapping[str, Estimate]) -> Panel:
    x = _axis(view)
    base = next(column.workers for column in view.columns if column.key == view.base)
    top, least = max(top_of(speedups.values(), 1.0, 1.15), 1.3), min(value.value for value in speedups.values())
    y = logarithmic(0.8 * min(least, 1.0), top, grid=True) if x.log else linear(0.0, top)
    marks: list[Mark] = []
    if (gate := view.efficiency_gate) is not None:
        spots = [x.low, *(level for level, _ in x.ticks if x.low < level < x.high), x.high]
        below = tuple((at, y.low, max(gate * at / base, y.low)) for at in spots)
        marks += [
            Band(points=below, role="fail"),
            Line(points=tuple((at, high) for at, _, high in below), role="fail", dashed=True, thin=True),
        ]
    marks += [Line(points=((x.low, x.low / base), (x.high, x.high / base)), role="soft", dashed=True, thin=True, series="ideal")]
    law = view.series.scaling
    marks += _amdahl(view, x) if law is None else _law(law)
    marks += _levels(view, speedups, common_scale(view.metric("speedup")))  # type: ignore[arg-type]
    return Panel(x=x, y=y, marks=tuple(marks), height=HEIGHT, title=f"times as fast as {view.label(view.base)}", view="Speedup")


def _efficiency(view: View, efficiencies: Mapping[str, Estimate]) -> Panel:
    top = max(top_of(efficiencies.values(), 100.0, 1.04), 108.0)
    marks: list[Mark] = []
    if (gate := view.efficiency_gate) is not None:
        marks.append(Area(high=gate * 100.0, role="fail", text=f"below the gate of {asked(gate, 'fraction')}"))
    marks += _levels(view, efficiencies, PERCENT)
    return Panel(
        x=worker_axis(view), y=linear(0, top), marks=tuple(marks), height=HEIGHT, title="efficiency, % of ideal", view="Efficiency"
    )


def _levels(view: View, values: Mapping[str, Estimate], scale: Scale) -> list[Mark]:
    """Blocks, then the interval of each level, in the colour of its gate's outcome."""
    outcomes = {gate.configuration: gate.status for gate in view.gates if gate.gate == "efficiency"}
    workers = {column.key: column.workers for column in view.columns}
    marks: list[Mark] = []
    for key, value in values.items():
        role, _ = OUTCOMES.get(outcomes.get(key, ""), ("ink", "")) if key != view.base else ("ink", "")
        dots = block_dots(view, key, value, scale.factor)
        marks += [replace(dot, x=workers[key], role=role, shift=13 + 6 * (i % 2)) for i, dot in enumerate(dots)]
        target = f"level-{workers[key]}"
        drawn = point(view.label(key), workers[key], value, scale, role=role, target=target)
        marks.append(replace(drawn, label=show(value, scale).text))
    return marks


def _key(view: View, speedups: Mapping[str, Estimate], panels: list[Panel]) -> tuple[Key, ...]:
    law = view.series.scaling
    keys = [
        *interval_key(speedups.values(), view, "mean", "ink"),
        *dot_key([mark for mark in panels[0].marks if isinstance(mark, Dot)], "one block"),
    ]
    fitted = f"{_typeset(law.law)}, fitted{'; dashed: predicted' if law.beyond else ''}" if law is not None else "Amdahl’s law, fitted"
    models = {
        "ideal": Key(mark="dash", role="soft", text="ideal", series="ideal"),
        "law": Key(mark="line", role="blue", text=fitted, series="law", off=True),
    }
    keys += of_marks(models, panels)
    if view.efficiency_gate is not None:
        keys.append(Key(mark="band", role="fail", text=f"below the gate of {asked(view.efficiency_gate, 'fraction')} efficiency"))
    return tuple(keys)


def _axis(view: View) -> Axis:
    """The worker axis, up to the end of the prediction, with each level's outcome."""
    law = view.series.scaling
    return _judged(view, worker_axis(view, law.beyond[-1].workers if law is not None and law.beyond else 0.0))


def _judged(view: View, axis: Axis) -> Axis:
    """The outcome of the gate below each level that has a label."""
    outcomes = {gate.configuration: OUTCOMES.get(gate.status) for gate in view.gates if gate.gate == "efficiency"}
    shown = [column for column in view.columns if column.workers in {level for level, _ in axis.ticks}]
    if len(shown) > MOST_OUTCOMES:
        return axis
    base: list[tuple[float, str, Role]] = [(column.workers, "base", "soft") for column in shown if column.key == view.base]
    found = [(column, outcome) for column in shown if column.key != view.base and (outcome := outcomes.get(column.key))]
    return replace(axis, under=(*base, *((column.workers, words, role) for column, (role, words) in found)))


def _typeset(law: str) -> str:
    return law.removeprefix("the ").replace("'", "’")


def _law(law: ScalingCurve) -> list[Mark]:
    """Band and line over the measured range, dashed beyond it."""
    marks: list[Mark] = []
    for part, dashed in ((law.measured, False), (law.beyond, True)):
        bands = tuple((at.workers, at.low, at.high) for at in part if at.low is not None and at.high is not None)
        marks += [Band(points=bands, series="law")] if bands else []
        marks += [Line(points=tuple((at.workers, at.speedup) for at in part), thin=True, dashed=dashed, series="law")] if part else []
    return marks


def _fraction(view: View) -> Estimate | None:
    """The serial fraction if within 0..1; a fit outside means that Amdahl's law does not describe the data."""
    value = view.estimate("serial_fraction", ALL)
    return value if value is not None and 0.0 <= value.value <= 1.0 else None


def amdahl(serial: float, workers: float) -> float:
    """Amdahl's law, S(p) = 1 / (s + (1 - s) / p), with s clamped to 0..1."""
    return amdahl_speedup(min(max(serial, 0.0), 1.0), workers)


def _amdahl(view: View, axis: Axis) -> list[Mark]:
    fraction = _fraction(view)
    levels = [level for level, _ in axis.ticks]
    if fraction is None or len(levels) < 2:
        return []
    first, last = math.log(min(levels)), math.log(max(levels))
    places = [math.exp(first + (last - first) * i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
    line = Line(points=tuple((p, amdahl(fraction.value, p)) for p in places), thin=True, series="law")
    if not (math.isfinite(fraction.low) and math.isfinite(fraction.high)):
        return [line]
    return [Band(points=tuple((p, amdahl(fraction.high, p), amdahl(fraction.low, p)) for p in places), series="law"), line]


def _model_words(view: View) -> str:
    """The fitted serial fraction and its ceiling, or why there is none."""
    law = view.series.scaling
    if law is None:
        return of_whole(view, "serial_fraction", "amdahl_ceiling") or "No model is fitted: the record holds no serial fraction."
    words = of_whole(view, "serial_fraction", "amdahl_ceiling", "usl_peak", "held_out_error")
    limit = f"{law.limit[0].upper()}{law.limit[1:]}." if law.limit else ""
    return f"{words} Law: {_typeset(law.why)}. {limit}".strip()
