"""How did a metric develop from record to record?

One point with its interval per record, by creation time; a line at each level between changes, and a vertical line before the first
record of a new level. A suspected change is dashed; an outlier is a hollow point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import Scale, count, scale_for, show
from fireassay.reports.charts.axes import linear
from fireassay.reports.charts.model import Axis, Chart, Drawn, Key, Panel, Rule
from fireassay.reports.charts.points import point
from fireassay.verdict.checking.history import History

MAX_TICKS: Final = 10


def history_chart(history: History, name: str) -> Chart:
    """The chart of one series."""
    title, number = f"{history.title} at {history.configuration}", len(history.points)
    if not history.points:
        return Chart(name=name, title=title, missing="No record holds a value.")
    scale = scale_for(history.unit, [at.value.value for at in history.points])
    ends = [
        end * scale.factor for at in history.points for end in (at.value.value, at.value.low, at.value.high) if abs(end) != float("inf")
    ]
    room = 0.08 * (max(ends) - min(ends)) or abs(max(ends)) * 0.05 or 1.0
    quantity = f"{history.title}, {scale.label}" if scale.label else history.title
    every = -(-number // MAX_TICKS)
    ticks = tuple((float(i), str(i)) for i in range(1, number + 1) if (i - 1) % every == 0)
    panel = Panel(
        x=Axis(low=0.5, high=number + 0.5, ticks=ticks, title="record, in order of creation", grid=False),
        y=linear(min(ends) - room, max(ends) + room),
        marks=tuple(_marks(history, scale)),
        title=quantity,
    )
    return Chart(
        name=name,
        title=title,
        panels=(panel,),
        key=tuple(_key(history)),
        caption=f"{count(number, 'records')} in the order of their creation, each with its interval.",
        description=_words(history, scale),
        quantity=quantity,
    )


def _marks(history: History, scale: Scale) -> Iterator[Drawn]:
    """Levels, changes, and records at positions from 1; an outlier is hollow."""
    for a, b, mean in history.levels:
        yield Rule(y=mean * scale.factor, left=a + 0.5, right=b + 0.5, role="orange")
    for change in history.changes:
        if change.kind in ("change", "suspected"):
            yield Rule(x=change.index + 0.5, role="fail", dashed=change.kind == "suspected")
    for index, at in enumerate(history.points):
        drawn = point(at.label, index + 1.0, at.value, scale)
        yield replace(drawn, hollow=drawn.hollow or index in history.outliers)


def _key(history: History) -> Iterator[Key]:
    kinds = {change.kind for change in history.changes}
    yield Key(mark="point", role="blue", text="record, with its interval")
    yield Key(mark="line", role="orange", text="level")
    if "change" in kinds:
        yield Key(mark="line", role="fail", text="change")
    if "suspected" in kinds:
        yield Key(mark="dash", role="fail", text="suspected: not certain yet")
    if history.outliers:
        yield Key(mark="hollow", role="blue", text="outlier, not part of a level")


def _words(history: History, scale: Scale) -> str:
    parts = [f"{at.label}: {show(at.value, scale).text}" for at in history.points]
    events = [f"{change.kind} before record {change.index + 1}" for change in history.changes]
    events += [f"outlier at record {at + 1}" for at in history.outliers]
    return f"In order: {'; '.join(parts)}. Changes: {', '.join(events) or 'none'}."
