"""Is a model as sure as it is right, which margin can so many items show, and was quality held within the margin set beforehand?

Reliability diagrams: share of right choices over stated confidence, a panel for each side. Bins hold as many items each; on the diagonal a
confidence means what it says, below it the model is over-confident.

Power: the smallest margin that is shown with 80 % power if nothing truly changes and as many items flip as were seen to flip
(`fireassay.stats.comparing.item_power`); the margin and the number of items of the record are marked. A margin below the curve cannot be
shown with so many items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, percent, reading, show
from fireassay.reports.charts.axes import linear, logarithmic, rows_axis
from fireassay.reports.charts.model import Area, Chart, Dot, Drawn, Key, Line, Panel, Point, Rule, named
from fireassay.reports.charts.of_view import absence, block_dots, common_scale, estimates, in_words, interval_key
from fireassay.reports.charts.points import CATEGORIES, PLAIN, SHAPES, dot_key, level_point, plain, point
from fireassay.reports.evaluation_view import CalibrationBin, CalibrationRow, PowerRow
from fireassay.reports.view import MetricRow, View
from fireassay.units import SCORE

MAX_PANELS: Final = 8  # panels; the table has all sides
ROOM: Final = 0.04  # above 1, so that its label leaves the title alone
ABOVE: Final = 1.1  # of the largest margin


@named("reliability")
def reliability(view: View) -> Chart:
    """A panel for each side."""
    title, every = "Right choices over stated confidence", view.evaluation.calibration if view.evaluation is not None else ()
    every = tuple(row for row in every if row.bins)
    if not every:
        return Chart(title=title, missing="No task was answered by log probabilities of choices.")
    rows, several = every[:MAX_PANELS], len(every) > 1
    left = f" {count(len(every) - MAX_PANELS, 'more sides')}: see the table." if len(every) > MAX_PANELS else ""
    # one scale for all panels and both directions, from a tenth below everything
    low = max(0.0, math.floor(10.0 * min(min(one.confidence, one.right.low) for row in rows for one in row.bins)) / 10.0)
    errors = "; ".join(f"{row.column} {show(row.error).full}" if several else show(row.error).full for row in rows)
    return Chart(
        title=title,
        panels=tuple(_panel(row, low, several=several) for row in rows),
        across=2 if several else 1,
        caption=f"Bins hold as many items each. Calibration error over ten bins of equal width, less its bias: {errors}.{left}",
        description="; ".join(row.sentence for row in rows),
        key=(
            Key(mark="point", role="blue", text=f"items of about one confidence, with {view.confidence} interval"),
            Key(mark="dash", role="soft", text="as sure as right"),
        ),
        quantity="share right",
    )


def _panel(row: CalibrationRow, low: float, *, several: bool) -> Panel:
    diagonal = Line(points=((low, low), (1.0, 1.0)), role="soft", dashed=True, thin=True)
    side = f"{row.column}, " if several else ""
    names = ((one, f"{side}{count(one.items, 'items')} at a mean confidence of {sure(one)}") for one in row.bins)
    return Panel(
        x=linear(low, 1.0, "mean confidence"),
        y=replace(linear(low, 1.0), high=1.0 + ROOM),
        marks=(diagonal, *(point(name, one.confidence, one.right, PLAIN) for one, name in names)),
        height=230,
        title=f"{row.column}: share right" if several else "share right",
    )


def sure(one: CalibrationBin) -> str:
    """A mean confidence, rounded so that it stays inside or outside of the interval of the share."""
    return reading(one.confidence, SCORE, beside=(one.right.low, one.right.high))


@named("power")
def power(view: View) -> Chart:
    """A curve for each task and side; its point is the record."""
    title, every = "Margin that the items can show", view.evaluation.power if view.evaluation is not None else ()
    margin = view.evaluation.margin if view.evaluation is not None else None
    if not every or margin is None:
        return Chart(title=title, missing="No margin was given, or items are not right or wrong, each a unit of its own.")
    left, rows = len(every) - len(CATEGORIES), every[: len(CATEGORIES)]
    more = f" {count(left, 'more sides')} {'is' if left == 1 else 'are'} not drawn." if left > 0 else ""
    named_rows = list(zip(_names(rows), rows, CATEGORIES, SHAPES, strict=False))
    sizes = [size for row in rows for size, _ in row.curve]
    panel = Panel(
        x=logarithmic(min(sizes), max(sizes), "items"),
        y=linear(0.0, max(*(change for row in rows for _, change in row.curve), margin) * ABOVE),
        marks=(
            *(Line(points=row.curve, role=role, series=name) for name, row, role, _ in named_rows),
            Rule(y=margin, dashed=True, text=f"margin {given(margin)}"),
            *(_record(name, row, role=role, shape=shape, series=name) for name, row, role, shape in named_rows),
        ),
        height=260,
        title="smallest margin at 80 % power",
    )
    return Chart(
        title=title,
        panels=(panel,),
        caption=f"A margin below the curve cannot be shown with so many items. The point is this record.{more}",
        description=" ".join(_words(name, row, margin) for name, row, _, _ in named_rows),
        key=tuple(
            Key(mark=shape, role=role, text=f"{name}: {percent(row.flips, 4)} of items flipped", series=name)
            for name, row, role, shape in named_rows
        ),
        quantity="smallest margin",
    )


def _names(rows: Sequence[PowerRow]) -> list[str]:
    several = len({row.task for row in rows}) > 1
    return [f"{row.column}, {row.task}" if several else row.column for row in rows]


def _record(name: str, row: PowerRow, **look: Any) -> Point:
    told = plain(name, given(row.supported, 3), row.supported, more=f"with {count(row.items, 'items')}")
    return Point(x=float(row.items), y=row.supported, reading=told, **look)


def _words(name: str, row: PowerRow, margin: float) -> str:
    enough = "enough" if row.supported <= margin else "too few"
    return f"{name}: {count(row.items, 'items')} show {given(row.supported, 3)} or more; {enough} for the margin of {given(margin)}."


# ---- quality and its margin ------------------------------------------------------------------------------------------


@named("quality")
def quality(view: View) -> Chart:
    """Difference from the base with its interval, and the margin: quality is lost to its left."""
    title, row, margin = "Quality and its margin", view.metric("quality_difference"), view.quality_margin or 0.0
    differences = estimates(view, row)
    if row is None or not differences:
        return Chart(title=title, missing=absence(row, "The difference of quality to the base"))
    panel = _margin_panel(view, row, differences, margin)
    dots = [mark for mark in panel.marks if isinstance(mark, Dot)]
    return Chart(
        title=title,
        panels=(panel,),
        caption="Right is better. Held where the whole interval lies right of the margin.",
        description=f"{in_words(view, row)} The margin is {given(margin)}.",
        key=(
            *interval_key(differences.values(), view, "difference"),
            *dot_key(dots, "one launch"),
            Key(mark="band", role="fail", text=f"worse than the margin of −{given(margin)} allows"),
        ),
        quantity=f"difference of {view.quality_metric or 'quality'}",
    )


def _margin_panel(view: View, row: MetricRow, differences: Mapping[str, Estimate], margin: float) -> Panel:
    """Intervals, launches and the margin on a common axis."""
    ends = [e for v in differences.values() for e in (v.value, v.low, v.high, *v.launch_values) if abs(e) != float("inf")]
    room = max(max(abs(e) for e in (*ends, margin)) * 0.12, 1e-9)
    low, high = min(-margin * 1.5, *ends) - room, max(margin * 0.5, 0.0, *ends) + room
    scale = common_scale(row)
    edge = -margin * scale.factor
    marks: list[Drawn] = [Area(right=edge, role="fail"), Rule(x=edge, role="fail", dashed=True), Rule(x=0.0)]
    for index, (key, value) in enumerate(differences.items()):
        dots = block_dots(view, key, value, scale.factor)
        marks += [replace(dot, x=dot.y, y=index, role="blue", drop=9 + 5 * (i % 2)) for i, dot in enumerate(dots)]
        marks.append(level_point(view.label(key), index, value, scale))
    title = f"difference of {view.quality_metric or 'quality'} to {view.label(view.base)}"
    rows = rows_axis((view.label(key) for key in differences), 52)
    return Panel(x=linear(low * scale.factor, high * scale.factor, title), y=rows, marks=tuple(marks))
