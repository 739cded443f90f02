"""Where does adding workers stop paying, and how well did the communication model predict the largest worker count?

Shows measured speedups with intervals; the model based on the links, with its band; Amdahl's fit, which ignores them; the prediction for
the largest count without its data (a cross); tinted, the range beyond twice the largest measured count, where only the model speaks.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, count
from fireassay.metrics.training.communication_model import (
    COMMUNICATION_WALL,
    COMMUNICATION_WALL_ERROR,
    FASTEST_WORKERS,
    SERIAL_FRACTION_APART,
)
from fireassay.metrics.training.scaling import PREDICTED_SPEEDUP, SPEEDUP
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    absence,
    estimates,
    in_words,
    interval_key,
    linear,
    logarithmic,
    of_marks,
    of_whole,
    plain,
    point,
    top_of,
    worker_axis,
    written_tick,
)
from fireassay.reports.charts.marks import Area, Axis, Band, Line, Mark, Panel, Point, Rule
from fireassay.reports.series.training import WallSeries
from fireassay.reports.view import View

NAME = "wall"
TITLE = "Limit by communication"
NUMBERS = (SERIAL_FRACTION_APART.name, FASTEST_WORKERS.name, PREDICTED_SPEEDUP.name, COMMUNICATION_WALL_ERROR.name)


def draw(view: View) -> Drawing | Missing | tuple[()]:
    """The model over worker counts; empty if the links were not measured."""
    wall, row = view.series.wall, view.metric(SPEEDUP.name)
    speedups = estimates(view, row)
    if wall is None or row is None or not speedups:
        return _missing(view)
    x = worker_axis(view, wall.points[-1].workers)
    top = max(top_of(speedups.values(), 1.0), max(at.high or at.speedup for at in wall.points) * 1.05)
    low = 0.9 * min(1.0, *(value.value for value in speedups.values())) if x.log else 0.0
    y = logarithmic(low, top) if x.log else linear(0.0, top)
    panel = Panel(x=x, y=y, marks=(*_beyond(wall, x), *_curves(wall), *_marks(wall), *_points(view, speedups)), title="speedup")
    return Drawing(
        title=TITLE,
        panels=(panel,),
        caption=f"{of_whole(view, *NUMBERS)} Model: {wall.words}.",
        description=f"{in_words(view, row)} {of_whole(view, *NUMBERS)}",
        key=_key(view, wall, speedups, panel),
        quantity="speedup",
    )


def _missing(view: View) -> Missing | tuple[()]:
    """Why there is no model although the links were measured; empty if they were not."""
    row = view.metric(COMMUNICATION_WALL.name)
    reasons = {cell.value.reason for cell in row.cells.values() if isinstance(cell.value, Absent)} if row is not None else set()
    if not reasons & {"insufficient", "refused"}:
        return ()
    return Missing(title=TITLE, reason=absence(view, row, "The model of communication"))


def _points(view: View, speedups: dict[str, Estimate]) -> list[Point]:
    workers, scale = {column.key: column.workers for column in view.columns}, Scale(factor=1.0)
    return [
        point(view.label(key), workers[key], value, scale, role="ink", target=f"level-{workers[key]}") for key, value in speedups.items()
    ]


def _curves(wall: WallSeries) -> list[Mark]:
    """The model's band and line, dashed beyond the largest measured count; the model without overlap; Amdahl's fit."""
    marks: list[Mark] = []
    bands = tuple((at.workers, at.low, at.high) for at in wall.points if at.low is not None and at.high is not None)
    if bands:
        marks.append(Band(points=bands, role="orange", series="band"))
    fits = tuple((at.workers, at.amdahl) for at in wall.points if at.amdahl is not None)
    if fits:
        marks.append(Line(points=fits, role="soft", dashed=True, thin=True, series="amdahl"))
    measured = [(at.workers, at.speedup) for at in wall.points if at.workers <= wall.largest]
    beyond = [(at.workers, at.speedup) for at in wall.points if at.workers > wall.largest]
    marks += [Line(points=tuple(measured), role="orange", series="model")]
    marks += [Line(points=(*measured[-1:], *beyond), role="orange", dashed=True, series="model")]
    if wall.hides:
        marks.append(
            Line(points=tuple((at.workers, at.exposed) for at in wall.points), role="teal", dashed=True, thin=True, series="exposed")
        )
    return marks


def _beyond(wall: WallSeries, axis: Axis) -> list[Mark]:
    """The range in which predictions are flagged."""
    return [] if wall.trusted >= axis.high else [Area(left=wall.trusted, role="soft", text="the model alone")]


def _marks(wall: WallSeries) -> list[Mark]:
    """The held-out prediction, and the minimum of the step time."""
    marks: list[Mark] = []
    if wall.held_workers is not None and wall.held_speedup is not None:
        name = f"{count(wall.held_workers, 'workers')}, predicted without them"
        told = plain(name, written_tick(wall.held_speedup), wall.held_speedup)
        marks.append(Point(x=wall.held_workers, y=wall.held_speedup, role="plum", shape="cross", reading=told))
    if wall.fastest is not None and wall.fastest <= wall.points[-1].workers:
        marks.append(Rule(x=wall.fastest, role="ink", dashed=True, text=f"shortest step: {count(wall.fastest, 'workers')}"))
    return marks


def _key(view: View, wall: WallSeries, speedups: dict[str, Estimate], panel: Panel) -> tuple[Key, ...]:
    keys = [*interval_key(speedups.values(), view, "speedup", "ink")]
    models = {
        "model": Key(mark="line", role="orange", text="model of communication; dashed: predicted", series="model"),
        "band": Key(mark="band", role="orange", text=f"{view.confidence} interval of as many launches", series="band"),
        "exposed": Key(mark="dash", role="teal", text="the same without overlap", series="exposed"),
        "amdahl": Key(mark="dash", role="soft", text="Amdahl’s law, fitted", series="amdahl"),
    }
    keys += of_marks(models, [panel])
    if wall.held_workers is not None:
        keys.append(Key(mark="cross", role="plum", text=f"{count(wall.held_workers, 'workers')}, predicted without them"))
    if any(isinstance(mark, Area) for mark in panel.marks):
        far = "twice " if wall.trusted > wall.largest else ""
        keys.append(Key(mark="band", role="soft", text=f"beyond {far}the measured range: the model alone"))
    return tuple(keys)
