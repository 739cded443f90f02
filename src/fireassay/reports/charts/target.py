"""How does quality grow over time, samples and dollars, and where does each launch meet the target?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import Scale, count, given, reading, scale_for
from fireassay.frames.costs import usd_per_second
from fireassay.frames.training.evaluated_scores import evaluated_scores
from fireassay.frames.training.time_to_quality import launches_to_quality
from fireassay.metrics.training.quality_target import TIME_TO_QUALITY
from fireassay.reports.charts.axes import linear
from fireassay.reports.charts.model import Chart, Drawn, Key, Line, Panel, Point, Reading, Rule, named
from fireassay.reports.charts.of_view import absence, in_words
from fireassay.reports.charts.points import CATEGORIES, SHAPES
from fireassay.reports.view import View
from fireassay.spec.sections.target import Goal
from fireassay.units import SECONDS, USD

MAX_LAUNCHES: Final = 60  # lines
ROOM: Final = 0.05  # above and below the scores
MAX_POINTS: Final = 200  # of a line; its best evaluations stay
Row = dict[str, Any]


@named("target")
def target(view: View) -> Chart:
    """A line for each launch, a colour for each worker count; a panel over time, one over samples, one over dollars."""
    measured, title = view.measured, "Quality on the way to the target"
    goal = measured.experiment.target.parsed if measured.experiment.target is not None else None
    ends = launches_to_quality(measured)
    if goal is None or ends["evaluations"].sum() == 0:
        return Chart(title=title, missing=absence(view.metric(TIME_TO_QUALITY.name), "Quality over time"))
    scores = _scores(view, goal)
    drawn = [row for row in ends.to_dicts() if row["launch"] in scores][:MAX_LAUNCHES]
    if not drawn:
        return Chart(title=title, missing=f"Quality over time: no score of {goal.name} is a finite number.")
    across = [
        ("since_s", "time_s", SECONDS, "time since the first step", "over time"),
        ("samples", "samples", "", "samples", "over samples"),
        ("usd", "usd", USD, "cost since the launch began", "over dollars"),
    ]
    panels = [_panel(view, goal, drawn, scores, names) for names in across if all(row[names[1]] is not None for row in drawn)]
    columns = [column for column in view.columns if any(row["configuration"] == column.key for row in drawn)]
    lost = ends.height - len(drawn)
    return Chart(
        title=title,
        panels=tuple(panels),
        caption=f"A line is a launch; its mark is the first evaluation that meets {goal}, or where the launch ended without (hollow)."
        + (f" {count(lost, 'launches')} not drawn." if lost else ""),
        key=(
            *(Key(mark=shape, role=role, text=column.label, series=column.label) for column, role, shape in _looks(columns)),
            Key(mark="dash", role="ink", text=f"target: {goal}"),
        ),
        description=in_words(view, view.metric(TIME_TO_QUALITY.name)),
        quantity=goal.name,
    )


def _looks(columns: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for place, column in enumerate(columns):
        yield column, CATEGORIES[place % len(CATEGORIES)], SHAPES[place % len(SHAPES)]


def _scores(view: View, goal: Goal) -> dict[int, list[Row]]:
    """launch -> its evaluations in the order of time, finite scores only, with the dollars spent by then."""
    measured = view.measured
    rates = usd_per_second(measured) or {}
    launches = measured.table("launches").select("launch", "configuration")
    rows = evaluated_scores(measured).filter((pl.col("name") == goal.name) & pl.col("score").is_finite()).join(launches, on="launch")
    usd = pl.col("configuration").replace_strict(rates, default=None, return_dtype=pl.Float64) * pl.col("wall_s")
    parts = rows.with_columns(usd.alias("usd")).partition_by("launch", maintain_order=True)
    return {int(part["launch"][0]): part.to_dicts() for part in parts}


def _panel(view: View, goal: Goal, launches: Sequence[Row], scores: dict[int, list[Row]], names: tuple[str, str, str, str, str]) -> Panel:
    """Over what `names` says: its column of an evaluation and of a launch's end, unit, title, and the name that a reader chooses."""
    x, end, unit, title, name = names
    largest = max([row[end] for row in launches] + [one[x] or 0.0 for row in launches for one in scores[row["launch"]]])
    scale = scale_for(unit, (largest,)) if unit else Scale(factor=1.0, after="")
    looks = {column.key: (column.label, role, shape) for column, role, shape in _looks(view.columns)}
    marks: list[Drawn] = []
    for row in launches:
        label, role, shape = looks[row["configuration"]]
        points = [(one[x] * scale.factor, one["score"]) for one in thinned(scores[row["launch"]]) if one[x] is not None]
        marks.append(Line(points=tuple(points), role=role, series=label, step=True, thin=True))
        marks.append(_mark(goal, row, scores[row["launch"]], x, end, scale, {"role": role, "shape": shape, "series": label}))
    values = [one["score"] for row in launches for one in scores[row["launch"]]] + [goal.value]
    spread = (max(values) - min(values)) or abs(goal.value) or 1.0
    marks.append(Rule(y=goal.value, role="ink", dashed=True, text=f"target {given(goal.value)}"))
    unit_words = f", {scale.label}" if scale.label else ""
    return Panel(
        x=linear(0.0, largest * scale.factor * 1.03, f"{title}{unit_words}"),
        y=linear(min(values) - ROOM * spread, max(values) + ROOM * spread),
        marks=tuple(marks),
        height=260,
        title=goal.name,
        view=name,
    )


def _mark(goal: Goal, row: Row, scores: Sequence[Row], x: str, end: str, scale: Scale, look: Row) -> Point:
    """Where the launch met the target, or where it ended."""
    met = next((one for one in scores if goal.met(one["score"])), None)
    score = met["score"] if met is not None else scores[-1]["score"]
    what = (
        f"met with {given(score, 4)}" if met is not None else f"never met, best {given(row['best'], 4)}{row['cut'] and ', ' + row['cut']}"
    )
    text = reading(row[end], SECONDS) if x == "since_s" else reading(row[end], USD) if x == "usd" else f"{row[end]:,.0f}"
    name = f"{look['series']}, launch {row['launch']}"
    tip = Reading(name=name, text=text, value=row[end] * scale.factor, more=what)
    return Point(x=row[end] * scale.factor, y=score, hollow=met is None, reading=tip, target=f"launch-{row['launch']}", **look)


def thinned(rows: Sequence[Row]) -> Sequence[Row]:
    """At most `MAX_POINTS` and the last of the evaluations, evenly spaced."""
    if len(rows) <= MAX_POINTS:
        return rows
    every = math.ceil(len(rows) / MAX_POINTS)
    return [*rows[::every], rows[-1]]
