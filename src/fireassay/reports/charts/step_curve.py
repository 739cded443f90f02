"""How does quality grow with the time and the tokens of more steps, or with what more candidates cost?

A point for each number of steps, with intervals in both directions; the knee is ringed. Its series are tasks, or engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, scale_for, show
from fireassay.reports.charts.axes import linear, top_of
from fireassay.reports.charts.model import Chart, Dot, Drawn, Key, Panel, Point, named
from fireassay.reports.charts.points import PLAIN, look, path, point, scaled
from fireassay.reports.evaluation_view import EvaluationRows
from fireassay.reports.view import View
from fireassay.units import COUNT, SECONDS, TOKENS, USD_PER_ITEM
from fireassay.verdict.evidence.step_curve import StepRow

TITLE: Final = "Quality against the time and the tokens of more steps"
OF_CANDIDATES: Final = "Quality of the best of k against its cost"
CANDIDATES: Final = "candidates"
ROOM: Final = 0.12  # of the height, above and below
MAX_SERIES: Final = 6
Curve = tuple[str, Sequence[StepRow]]


@named("steps")
def step_curve(view: View) -> Chart:
    """A panel over session time, and one over output tokens if they are known."""
    rows = view.evaluation
    curves = _curves(rows) if rows is not None else []
    if rows is None or not curves:
        return Chart(title=TITLE, missing="No numbers of steps were compared.")
    candidates = rows.knees[0].what == CANDIDATES
    title = OF_CANDIDATES if candidates else TITLE
    axes = (("cost of an item", USD_PER_ITEM, _usd), ("time of an item, p50", SECONDS, _time)) if candidates else AXES
    panels = [panel for name, unit, of in axes if (panel := _panel(rows, curves, name, unit, of)) is not None]
    if candidates and not panels and (panel := _panel(rows, curves, "candidates", COUNT, _number)) is not None:
        panels = [panel]
    if not panels:
        return Chart(title=title, missing="Neither the times nor the tokens of these steps carry an interval.")
    left = len(_curves(rows, len(rows.knees))) - len(curves)
    knees = ". ".join(
        f"{name}: {row.sentence}" if len(curves) > 1 else row.sentence for row, name in zip(rows.knees, _names(rows), strict=True)
    )
    better = "Lower" if rows.knees[0].lower else "Upper"
    more = f" {left} more curves are in the table." if left else ""
    return Chart(
        title=title,
        panels=tuple(panels),
        across=len(panels),
        caption=f"Numbers at points are {rows.knees[0].what}. {better} left is better.{more}",
        description=f"{knees}.",
        key=(
            *(Key(mark=look(place)[0], role=look(place)[1], text=name, series=name) for place, (name, _) in enumerate(curves)),
            Key(mark="ring", role="ink", text="the smallest number shown to be within the margin of the best"),
        ),
        quantity=rows.knees[0].title,
    )


def _names(rows: EvaluationRows) -> list[str]:
    """A curve is called by what varies: its engine, its task, or both."""
    engines, tasks = len({row.engine for row in rows.knees}) > 1, len({row.task for row in rows.knees}) > 1
    return [", ".join(([row.engine] if engines or not tasks else []) + ([row.task] if tasks else [])) for row in rows.knees]


def _curves(rows: EvaluationRows, most: int = MAX_SERIES) -> list[Curve]:
    named_knees = list(zip(_names(rows), rows.knees, strict=True))[:most]
    return [(name, [row for row in rows.steps if (row.task, row.engine) == (knee.task, knee.engine)]) for name, knee in named_knees]


def _time(row: StepRow) -> Value:
    return row.time


def _tokens(row: StepRow) -> Value:
    return row.tokens_out


def _usd(row: StepRow) -> Value:
    return row.usd


def _number(row: StepRow) -> Value:
    """The number of candidates, which is exact."""
    k = float(row.steps)
    return Estimate(
        value=k, low=k, high=k, unit=COUNT, confidence=0.95, n_launches=1, n_trials=1, method="as requested", signature="candidates|v:1"
    )


AXES: Final = (("session time, p50", SECONDS, _time), ("output tokens of an item", TOKENS, _tokens))


def _panel(rows: EvaluationRows, curves: Sequence[Curve], title: str, unit: str, of: Callable[[StepRow], Value]) -> Panel | None:
    every = [
        (row, across) for _, some in curves for row in some if isinstance(across := of(row), Estimate) and isinstance(row.score, Estimate)
    ]
    if len(every) < 2:
        return None
    scale = scale_for(unit, [across.value for _, across in every])
    up = Scale(factor=100.0) if rows.knees[0].share else PLAIN
    scores = [row.score for row, _ in every if isinstance(row.score, Estimate)]
    low, high = (of_all(end * up.factor for score in scores for end in (score.low, score.high)) for of_all in (min, max))
    room = ROOM * (high - low) or 1.0
    marks: list[Drawn] = []
    for place, (name, some) in enumerate(curves):
        marks += _marks(rows, name, some, place, of, scale, up)
    words = f"{title}, {scale.label}" if scale.label and unit in (SECONDS, USD_PER_ITEM) else title
    return Panel(
        x=linear(0.0, top_of([across for _, across in every], scale.factor), words),
        y=linear(
            max(low - room, 0.0) if rows.knees[0].share else low - room, min(high + room, 108.0) if rows.knees[0].share else high + room
        ),
        marks=tuple(marks),
        height=280,
        title=f"{rows.knees[0].title}, %" if rows.knees[0].share else rows.knees[0].title,
    )


def _marks(
    rows: EvaluationRows, name: str, some: Sequence[StepRow], place: int, of: Callable[[StepRow], Value], scale: Scale, up: Scale
) -> list[Drawn]:
    """The points of a curve on its line, the knee in a ring."""
    shape, role = look(place)
    knee = next(row.at for row in rows.knees if some and (row.task, row.engine) == (some[0].task, some[0].engine))
    points: list[Point] = []
    rings: list[Drawn] = []
    for row in some:
        across = of(row)
        if not isinstance(across, Estimate) or not isinstance(row.score, Estimate):
            continue
        wide = scaled(across, scale.factor)
        where = f"at {show(across).full}"
        mark = point(
            f"{name}, {row.sent}", wide.value, row.score, up, across=wide, more=where, shape=shape, role=role, label=row.sent, series=name
        )
        points.append(mark)
        if row.steps == knee:
            rings.append(Dot(x=mark.x, y=mark.y, role="ink", large=True, hollow=True, series=name, tip=f"{name}: the knee, {row.sent}"))
    return [*path(points, role=role, series=name), *rings]
