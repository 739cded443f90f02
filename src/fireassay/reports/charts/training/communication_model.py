"""Where does adding workers stop paying, and how well did the communication model predict the largest worker count?

Shows measured speedups with intervals; the model based on the links, with its band; Amdahl's fit, which ignores them; the prediction for
the largest count without its data (a cross); shaded, the range beyond twice the largest measured count, where only the model speaks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count
from fireassay.metrics.training.communication_model import (
    COMMUNICATION_WALL,
    COMMUNICATION_WALL_ERROR,
    FASTEST_WORKERS,
    SERIAL_FRACTION_APART,
)
from fireassay.metrics.training.scaling import PREDICTED_SPEEDUP, SPEEDUP
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
    estimates,
    in_words,
    interval_key,
    interval_rows,
    of_whole,
    points,
    sized,
    top_of,
    vertical,
    worker_axis,
)
from fireassay.reports.series.training import WallPoint, WallSeries
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
    reach = wall.points[-1].workers
    axis = replace(worker_axis(view), reach=reach)
    top = max(top_of(speedups.values(), 1.0), max(point.high or point.speedup for point in wall.points) * 1.05)
    low = 0.9 * min(1.0, *(value.value for value in speedups.values())) if axis.logarithmic else 0.0
    x, y = axis.channel(), vertical(low, top, logarithmic=axis.logarithmic)
    rows = interval_rows(view, speedups, 1.0, low, top)
    layers = [*_beyond(wall, axis, low, top, x, y), *_curves(wall, low, top, x, y), *_marks(wall, low, top, x, y), *points(rows, x, y)]
    return Drawing(
        title=TITLE,
        chart=sized(vega.layer(*layers).properties(title=above("speedup")), HEIGHT),
        caption=f"{of_whole(view, *NUMBERS)} Model: {wall.words}.",
        description=f"{in_words(view, row)} {of_whole(view, *NUMBERS)}",
        key=_key(view, wall, speedups),
    )


def _missing(view: View) -> Missing | tuple[()]:
    """Why there is no model although the links were measured; empty if they were not."""
    row = view.metric(COMMUNICATION_WALL.name)
    reasons = {cell.value.reason for cell in row.cells.values() if isinstance(cell.value, Absent)} if row is not None else set()
    if not reasons & {"insufficient", "refused"}:
        return ()
    return Missing(title=TITLE, reason=absence(view, row, "The model of communication"))


def _curves(wall: WallSeries, low: float, top: float, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    """The model's band and line, dashed beyond the largest measured count; the model without overlap; Amdahl's fit."""
    drawn = [_row(point, low, top) for point in wall.points]
    measured = [row for row in drawn if row["x"] <= wall.largest]
    beyond = [row for row in drawn if row["x"] > wall.largest]
    layers = []
    if wall.points[0].low is not None:
        layers.append(vega.chart(drawn).mark("area", opacity=0.18, color=colour("second")).encode(x=x, y=y("low"), y2="high:Q"))
    fits: Rows = [{"x": point.workers, "y": point.amdahl} for point in wall.points if point.amdahl is not None and point.amdahl <= top]
    if fits:
        layers.append(vega.chart(fits).mark("line", strokeWidth=1.5, strokeDash=[6, 4], color=colour("muted")).encode(x=x, y=y("y")))
    for part, dash in ((measured, [1, 0]), (measured[-1:] + beyond, [5, 4])):
        layers.append(vega.chart(part).mark("line", strokeWidth=2, strokeDash=dash, color=colour("second")).encode(x=x, y=y("y")))
    if wall.hides:
        bare = vega.chart(drawn).mark("line", strokeWidth=1.5, strokeDash=[2, 3], color=colour("third"))
        layers.append(bare.encode(x=x, y=y("exposed")))
    return layers


def _row(point: WallPoint, low: float, top: float) -> dict[str, Any]:
    def held(value: float | None) -> float | None:
        return None if value is None else min(max(value, low), top)

    return {"x": point.workers, "y": held(point.speedup), "low": held(point.low), "high": held(point.high), "exposed": held(point.exposed)}


def _beyond(wall: WallSeries, axis: WorkerAxis, low: float, top: float, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    """The range in which predictions are flagged."""
    end = axis.domain[1]
    if wall.trusted >= wall.points[-1].workers:
        return []
    area: Rows = [{"x": wall.trusted, "end": end, "low": low, "high": top}]
    return [vega.chart(area).mark("rect", opacity=0.5, color=colour("band")).encode(x=x, x2="end:Q", y=y("low"), y2="high:Q")]


def _marks(wall: WallSeries, low: float, top: float, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    """The held-out prediction, and the minimum of the step time."""
    layers = []
    if wall.held_workers is not None and wall.held_speedup is not None and low <= wall.held_speedup <= top:
        cross = vega.chart([{"x": wall.held_workers, "y": wall.held_speedup}])
        layers.append(
            cross.mark("point", shape="cross", angle=45, filled=True, opacity=1.0, size=150, color=colour("bad")).encode(x=x, y=y("y"))
        )
    if wall.fastest is not None and wall.fastest <= wall.points[-1].workers:
        line: Rows = [{"x": wall.fastest, "low": low, "high": top}]
        layers.append(vega.chart(line).mark("rule", strokeDash=[2, 2], color=colour("ink")).encode(x=x, y=y("low"), y2="high:Q"))
    return layers


def _key(view: View, wall: WallSeries, speedups: dict[str, Estimate]) -> tuple[Key, ...]:
    keys = [*interval_key(speedups.values(), view, "speedup")]
    keys.append(Key(mark="line", role="second", text="model of communication; dashed: predicted"))
    if wall.points[0].low is not None:
        keys.append(Key(mark="band", role="second", text=f"{view.confidence} interval of as many launches"))
    if wall.hides:
        keys.append(Key(mark="dotted", role="third", text="the same without overlap"))
    if wall.points[0].amdahl is not None:
        keys.append(Key(mark="dash", role="muted", text="Amdahl’s law, fitted"))
    if wall.held_workers is not None:
        keys.append(Key(mark="cross45", role="bad", text=f"{count(wall.held_workers, 'workers')}, predicted without them"))
    if wall.trusted < wall.points[-1].workers:
        far = "twice " if wall.trusted > wall.largest else ""
        keys.append(Key(mark="band", role="band", text=f"beyond {far}the measured range: the model alone"))
    if wall.fastest is not None and wall.fastest <= wall.points[-1].workers:
        keys.append(Key(mark="dotted", role="ink", text=f"shortest step: {count(wall.fastest, 'workers')}"))
    return tuple(keys)
