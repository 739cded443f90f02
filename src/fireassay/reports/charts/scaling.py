"""Do more workers pay, and where do they stop to?

Speedup and efficiency with the gate as a region, single blocks, the ideal, and the law that explains the gap: the one preferred by AICc on
the launches, with the interval of its curve; dashed where it is a prediction, up to at most twice the largest measured count. If no law
can be checked: Amdahl's with the fitted serial fraction. It starts switched off.

The limit by communication: the model based on the links, with its band; Amdahl's fit, which ignores them; the prediction for the largest
count without its data (a cross); tinted, the range beyond twice the largest measured count, where only the model speaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, count, limit_text, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import POINTS as LEAST_COUNTS
from fireassay.frames.training.communication.communication_model import HeldOut, Wall, held_out, model, refusal
from fireassay.frames.training.scaling_points import chosen, throughputs
from fireassay.metrics.metric import ALL
from fireassay.metrics.training import communication_model as of_links
from fireassay.metrics.training.scaling import EFFICIENCY, PREDICTED_SPEEDUP, SERIAL_FRACTION, SPEEDUP
from fireassay.reports.charts.axes import linear, logarithmic, top_of, written_tick
from fireassay.reports.charts.model import Area, Axis, Band, Chart, Charts, Dot, Drawn, Key, Line, Panel, Point, Role, Rule, named
from fireassay.reports.charts.of_view import absence, block_dots, common_scale, estimates, in_words, interval_key, of_whole, worker_axis
from fireassay.reports.charts.points import PLAIN, dot_key, of_marks, plain, point
from fireassay.reports.view import MetricRow, View
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.models.communication_wall import Curve
from fireassay.stats.models.communication_wall import predict as predict_wall
from fireassay.stats.models.scaling_laws import LAW_NAMES, Refused
from fireassay.stats.models.scaling_predictions import FARTHEST, amdahl_speedup, predict, relative_curve

CURVE_POINTS: Final = 60  # per part of a fitted curve
FIT_POINTS: Final = 40
HEIGHT: Final = 240
MAX_OUTCOMES: Final = 4  # levels whose outcome fits below the axis
PERCENT: Final = Scale(factor=100.0, after=" %")
WALL_REACH: Final = 8.0  # multiple of the largest worker count up to which the communication model is drawn
OUTCOMES: Final[Mapping[str, tuple[Role, str]]] = {
    "PASS": ("pass", "✓ holds"),
    "FAIL": ("fail", "✕ fails"),
    "INCONCLUSIVE": ("open", "? undecided"),
}


def places(begin: float, end: float, number: int = CURVE_POINTS) -> list[float]:
    """Worker counts at equal factors."""
    return [begin * (end / begin) ** (i / (number - 1)) for i in range(number)]


# ---- speedup and efficiency ------------------------------------------------------------------------------------------


Part = tuple[tuple[float, Interval], ...]  # workers, and the speedup there


@dataclass(frozen=True, kw_only=True)
class ScalingCurve:
    """The law preferred by AICc, over the measured range and as far beyond as prediction is allowed."""

    law: str
    why: str
    measured: Part
    beyond: Part  # empty if prediction is not allowed; `limit` says why
    bounded: bool  # several blocks give the curve an interval: the launches of one share their conditions
    limit: str


@named("speedup")
def speedup(view: View) -> Chart:
    """Two views of one chart: the speedup, and the efficiency against its gate."""
    title, row, share = "Do more workers pay?", view.metric(SPEEDUP.name), view.metric(EFFICIENCY.name)
    speedups, efficiencies = estimates(view, row), estimates(view, share)
    if row is None or not speedups:
        return Chart(title=title, missing=absence(row, "Speedup"))
    law = fitted_law(view.measured)
    panels = [_speedup(view, row, speedups, law), *([_efficiency(view, efficiencies)] if efficiencies else [])]
    return Chart(
        title=title,
        panels=tuple(panels),
        caption=_model_words(view, law),
        description=in_words(view, row, share),
        key=_key(view, speedups, panels, law),
        quantity="speedup, or efficiency",
    )


def _speedup(view: View, row: MetricRow, speedups: Mapping[str, Estimate], law: ScalingCurve | None) -> Panel:
    x = _judged(view, worker_axis(view, law.beyond[-1][0] if law is not None and law.beyond else 0.0))
    base = next(column.workers for column in view.columns if column.key == view.base)
    top, least = max(top_of(speedups.values(), 1.0, 1.15), 1.3), min(value.value for value in speedups.values())
    ceiling = _ceiling(view, max(1.15 * top, x.high / base))
    top = max(top, 1.1 * (ceiling or 0.0))
    y = logarithmic(0.8 * min(least, 1.0), top, grid=True) if x.log else linear(0.0, top)
    marks: list[Drawn] = []
    if (gate := view.efficiency_gate) is not None:
        spots = [x.low, *(level for level, _ in x.ticks if x.low < level < x.high), x.high]
        below = tuple((at, y.low, max(gate * at / base, y.low)) for at in spots)
        line = tuple((at, high) for at, _, high in below)
        marks += [Band(points=below, role="fail"), Line(points=line, role="fail", dashed=True, thin=True)]
    marks.append(Line(points=((x.low, x.low / base), (x.high, x.high / base)), role="soft", dashed=True, thin=True, series="ideal"))
    marks += _amdahl(view, x) if law is None else _law(law)
    marks += (
        [Rule(y=ceiling, role="orange", dashed=True, text=f"Amdahl’s ceiling {ceiling:.1f}", anchor="start")] if ceiling is not None else []
    )
    marks += _levels(view, speedups, common_scale(row))
    return Panel(x=x, y=y, marks=tuple(marks), height=HEIGHT, title=f"times as fast as {view.label(view.base)}", view="Speedup")


def _efficiency(view: View, efficiencies: Mapping[str, Estimate]) -> Panel:
    y = linear(0, max(top_of(efficiencies.values(), 100.0, 1.04), 108.0))
    gate = view.efficiency_gate
    below = [] if gate is None else [Area(high=gate * 100.0, role="fail", text=f"below the gate of {limit_text(gate, 'fraction')}")]
    marks = (*below, *_levels(view, efficiencies, PERCENT))
    return Panel(x=worker_axis(view), y=y, marks=marks, height=HEIGHT, title="efficiency, % of ideal", view="Efficiency")


def _outcomes(view: View) -> dict[str, tuple[Role, str]]:
    """Configuration -> colour and words of its gate's outcome."""
    gates = {gate.configuration: gate.status for gate in view.gates if gate.gate == "efficiency"}
    return {key: OUTCOMES[status] for key, status in gates.items() if status in OUTCOMES and key != view.base}


def _levels(view: View, values: Mapping[str, Estimate], scale: Scale) -> list[Drawn]:
    """Blocks, then the interval of each level, in the colour of its gate's outcome."""
    outcomes, workers = _outcomes(view), {column.key: column.workers for column in view.columns}
    marks: list[Drawn] = []
    for key, value in values.items():
        role, _ = outcomes.get(key, ("ink", ""))
        dots = block_dots(view, key, value, scale.factor)
        marks += [replace(dot, x=workers[key], role=role, shift=13 + 6 * (i % 2)) for i, dot in enumerate(dots)]
        text = show(value, scale).text
        marks.append(point(view.label(key), workers[key], value, scale, role=role, target=f"level-{workers[key]}", label=text))
    return marks


def _key(view: View, speedups: Mapping[str, Estimate], panels: list[Panel], law: ScalingCurve | None) -> tuple[Key, ...]:
    dots = [mark for mark in panels[0].marks if isinstance(mark, Dot)]
    fitted = f"{_typeset(law.law)}, fitted{'; dashed: predicted' if law.beyond else ''}" if law is not None else "Amdahl’s law, fitted"
    models = {
        "ideal": Key(mark="dash", role="soft", text="ideal", series="ideal"),
        "law": Key(mark="line", role="blue", text=fitted, series="law", off=True),
    }
    keys = [*interval_key(speedups.values(), view, "mean", "ink"), *dot_key(dots, "one round"), *of_marks(models, panels)]
    if view.efficiency_gate is not None:
        keys.append(Key(mark="band", role="fail", text=f"below the gate of {limit_text(view.efficiency_gate, 'fraction')} efficiency"))
    return tuple(keys)


def _judged(view: View, axis: Axis) -> Axis:
    """The outcome of the gate below each level that has a label."""
    shown = [column for column in view.columns if column.workers in {level for level, _ in axis.ticks}]
    if len(shown) > MAX_OUTCOMES:
        return axis
    base: list[tuple[float, str, Role]] = [(column.workers, "base", "soft") for column in shown if column.key == view.base]
    outcomes = _outcomes(view)
    found = ((column.workers, *outcomes[column.key]) for column in shown if column.key in outcomes)
    return replace(axis, under=(*base, *((workers, words, role) for workers, role, words in found)))


def _typeset(law: str) -> str:
    return law.removeprefix("the ").replace("'", "’")


def _model_words(view: View, law: ScalingCurve | None) -> str:
    """The fitted serial fraction and its ceiling, or why there is none."""
    if law is None:
        return of_whole(view, "serial_fraction", "amdahl_ceiling") or "No model is fitted: the record holds no serial fraction."
    words = of_whole(view, "serial_fraction", "amdahl_ceiling", "usl_peak", "held_out_error")
    limit = f"{law.limit[0].upper()}{law.limit[1:]}." if law.limit else ""
    return f"{words} Law: {_typeset(law.why)}. {limit}".strip()


def _law(law: ScalingCurve) -> Iterator[Drawn]:
    """Band and line over the measured range, dashed beyond it."""
    for part, dashed in ((law.measured, False), (law.beyond, True)):
        if part and law.bounded:
            yield Band(points=tuple((workers, at.low, at.high) for workers, at in part), series="law")
        if part:
            yield Line(points=tuple((workers, at.value) for workers, at in part), thin=True, dashed=dashed, series="law")


def fitted_law(measured: RecordData) -> ScalingCurve | None:
    """The preferred law and its curve; None if no law can be checked."""
    data = throughputs(measured)
    if isinstance(data, Absent) or isinstance(choice := chosen(measured, data), Refused):
        return None
    fit, least, most = choice.chosen, data.levels[0], data.levels[-1]

    def part(begin: float, end: float) -> Part:
        workers = places(begin, end)
        return tuple(zip(workers, relative_curve(fit, workers, measured.experiment.base_level), strict=True))

    whole = predict(fit, data, FARTHEST * most)
    end = min(FARTHEST * most, fit.turning_point() or FARTHEST * most)  # a decline beyond the measurements is not drawn
    end = FARTHEST * most if not isinstance(whole, Refused) else end
    drawn = end > most and not isinstance(predict(fit, data, end), Refused)
    return ScalingCurve(
        law=LAW_NAMES[fit.law],
        why=choice.sentence,
        measured=part(least, most),
        beyond=part(most, end) if drawn else (),
        bounded=data.spent > 0,
        limit=whole.sentence if isinstance(whole, Refused) else "",
    )


def amdahl(serial: float, workers: float) -> float:
    """Amdahl's law, S(p) = 1 / (s + (1 - s) / p), with s clamped to 0..1."""
    return amdahl_speedup(min(max(serial, 0.0), 1.0), workers)


def _amdahl(view: View, axis: Axis) -> list[Drawn]:
    """The fitted curve, if its serial fraction is within 0..1; a fit outside means that Amdahl's law does not describe the data."""
    fraction, levels = view.estimate(SERIAL_FRACTION.name, ALL), [level for level, _ in axis.ticks]
    if fraction is None or not 0.0 <= fraction.value <= 1.0 or len(levels) < 2:
        return []
    first, last = math.log(min(levels)), math.log(max(levels))
    counts = [math.exp(first + (last - first) * i / (FIT_POINTS - 1)) for i in range(FIT_POINTS)]
    line = Line(points=tuple((p, amdahl(fraction.value, p)) for p in counts), thin=True, series="law")
    if not (math.isfinite(fraction.low) and math.isfinite(fraction.high)):
        return [line]
    return [Band(points=tuple((p, amdahl(fraction.high, p), amdahl(fraction.low, p)) for p in counts), series="law"), line]


def _ceiling(view: View, reach: float) -> float | None:
    """Amdahl's largest speedup, up to `reach`; the caption names it in any case."""
    fraction = view.estimate(SERIAL_FRACTION.name, ALL)
    if fraction is None or not 1.0 / max(reach, 1.0) <= fraction.value <= 1.0:
        return None
    return 1.0 / fraction.value


# ---- the limit by communication --------------------------------------------------------------------------------------

WALL: Final = "Limit by communication"
NUMBERS: Final = (
    *(of_links.SERIAL_FRACTION_APART.name, of_links.FASTEST_WORKERS.name),
    *(PREDICTED_SPEEDUP.name, of_links.COMMUNICATION_WALL_ERROR.name),
)


@named("wall")
def communication_model(view: View) -> Chart | Charts:
    """The model over worker counts; empty if the links were not measured."""
    fitted, row = model(view.measured), view.metric(SPEEDUP.name)
    speedups = estimates(view, row)
    if isinstance(fitted, Absent) or not speedups:
        return _without_model(view)
    best, largest = fitted.fitted.middle.fastest(), fitted.largest
    reach = max(FARTHEST * largest, min(2.0 * (best or math.inf), WALL_REACH * largest))
    # a model that misses the measurements is not extrapolated
    counts = places(max(1, fitted.levels[0]), float(largest) if refusal(view.measured) is not None else reach)
    predicted = [(workers, _predicted(fitted, workers, view.measured.confidence)) for workers in counts]
    highest = max(at.high if math.isfinite(at.high) and at.high else at.value for _, at in predicted)
    x, top = worker_axis(view, counts[-1]), max(top_of(speedups.values(), 1.0), highest * 1.05)
    low = 0.9 * min(1.0, *(value.value for value in speedups.values())) if x.log else 0.0
    trusted = FARTHEST * largest if len(fitted.levels) >= LEAST_COUNTS else largest
    beyond = [] if trusted >= x.high else [Area(left=trusted, role="soft", text="the model alone")]  # predictions there are flagged
    panel = Panel(
        x=x,
        y=logarithmic(low, top) if x.log else linear(0.0, top),
        marks=(*beyond, *_curves(view, fitted, predicted), *_special(view, best, counts[-1]), *_points(view, speedups)),
        title="speedup",
    )
    return Chart(
        title=WALL,
        panels=(panel,),
        caption=f"{of_whole(view, *NUMBERS)} Model: {fitted.words}.",
        description=f"{in_words(view, row)} {of_whole(view, *NUMBERS)}",
        key=(*interval_key(speedups.values(), view, "speedup", "ink"), *_wall_key(view, panel, far=trusted > largest)),
        quantity="speedup",
    )


def _without_model(view: View) -> Chart | Charts:
    """Why there is no model although the links were measured; empty if they were not."""
    row = view.metric(of_links.COMMUNICATION_WALL.name)
    reasons = {cell.value.reason for cell in row.cells.values() if isinstance(cell.value, Absent)} if row is not None else set()
    if not reasons & {"insufficient", "refused"}:
        return ()
    return Chart(title=WALL, missing=absence(row, "The model of communication"))


def _predicted(fitted: Wall, workers: float, confidence: float) -> Interval:
    return predict_wall(fitted.fitted, workers, confidence, launches=fitted.fitted.blocks, others=fitted.others, what=Curve.speedup)


def _points(view: View, speedups: Mapping[str, Estimate]) -> list[Point]:
    workers = {column.key: column.workers for column in view.columns}
    return [
        point(view.label(key), workers[key], value, PLAIN, role="ink", target=f"level-{workers[key]}") for key, value in speedups.items()
    ]


def _curves(view: View, fitted: Wall, predicted: Sequence[tuple[float, Interval]]) -> Iterator[Drawn]:
    """The model's band and line, dashed beyond the largest measured count; Amdahl's fit; the model without overlap."""
    curve, serial = fitted.fitted.middle, view.estimate(SERIAL_FRACTION.name, ALL)
    if bands := tuple((workers, at.low, at.high) for workers, at in predicted if math.isfinite(at.high)):
        yield Band(points=bands, role="orange", series="band")
    if serial is not None and not curve.weak:
        fits = tuple((workers, amdahl_speedup(serial.value, workers)) for workers, _ in predicted)
        yield Line(points=fits, role="soft", dashed=True, thin=True, series="amdahl")
    measured, beyond = ([(workers, at.value) for workers, at in predicted if (workers > fitted.largest) == far] for far in (False, True))
    yield Line(points=tuple(measured), role="orange", series="model")
    yield Line(points=(*measured[-1:], *beyond), role="orange", dashed=True, series="model")
    if fitted.hides:
        bare = replace(curve, hideable_s=0.0)
        exposed = tuple((workers, bare.speedup(workers)) for workers, _ in predicted)
        yield Line(points=exposed, role="teal", dashed=True, thin=True, series="exposed")


def _special(view: View, best: int | None, last: float) -> Iterator[Drawn]:
    """The held-out prediction, and the minimum of the step time."""
    held = held_out(view.measured)
    if not isinstance(held, Absent):
        told = plain(_without(held), written_tick(held.speedup), held.speedup)
        yield Point(x=held.workers, y=held.speedup, role="plum", shape="cross", reading=told)
    if best is not None and best <= last:
        yield Rule(x=best, role="ink", dashed=True, text=f"shortest step: {count(best, 'workers')}")


def _without(held: HeldOut) -> str:
    return f"{count(held.workers, 'workers')}, predicted without them"


def _wall_key(view: View, panel: Panel, *, far: bool) -> Iterator[Key]:
    models = {
        "model": Key(mark="line", role="orange", text="model of communication; dashed: predicted", series="model"),
        "band": Key(mark="band", role="orange", text=f"{view.confidence} interval of as many launches", series="band"),
        "exposed": Key(mark="dash", role="teal", text="the same without overlap", series="exposed"),
        "amdahl": Key(mark="dash", role="soft", text="Amdahl’s law, fitted", series="amdahl"),
    }
    yield from of_marks(models, [panel])
    if not isinstance(held := held_out(view.measured), Absent):
        yield Key(mark="cross", role="plum", text=_without(held))
    if any(isinstance(mark, Area) for mark in panel.marks):
        yield Key(mark="band", role="soft", text=f"beyond {'twice ' if far else ''}the measured range: the model alone")
