"""How did a metric develop from record to record?

One point with its interval per record, by creation time; a line at each level between changes, and a vertical line before the first
record of a new level. A suspected change is dashed; an outlier is a hollow point.
"""

from __future__ import annotations

from dataclasses import replace

from fireassay.estimates.format import Scale, count, scale_for, show
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, point
from fireassay.reports.charts.marks import Axis, Mark, Panel, Rule
from fireassay.verdict.checking.history import History

MOST_TICKS = 10


def draw(history: History, work: str = "items") -> Drawing | Missing:
    """The chart of one series."""
    title = f"{history.title} at {history.configuration}"
    if not history.points:
        return Missing(title=title, reason="No record holds a value.")
    scale = scale_for(history.unit, [at.value.value for at in history.points], work)
    ends = [
        end * scale.factor for at in history.points for end in (at.value.value, at.value.low, at.value.high) if abs(end) != float("inf")
    ]
    room = 0.08 * (max(ends) - min(ends)) or abs(max(ends)) * 0.05 or 1.0
    quantity = f"{history.title}, {scale.label}" if scale.label else history.title
    panel = Panel(
        x=_records(len(history.points)), y=linear(min(ends) - room, max(ends) + room), marks=tuple(_marks(history, scale)), title=quantity
    )
    return Drawing(
        title=title,
        panels=(panel,),
        key=_key(history),
        caption=f"{count(len(history.points), 'records')} in the order of their creation, each with its interval.",
        description=_words(history, scale, work),
        quantity=quantity,
    )


def _records(n: int) -> Axis:
    every = -(-n // MOST_TICKS)
    ticks = tuple((float(i), str(i)) for i in range(1, n + 1) if (i - 1) % every == 0)
    return Axis(low=0.5, high=n + 0.5, ticks=ticks, title="record, in order of creation", grid=False)


def _marks(history: History, scale: Scale) -> list[Mark]:
    """Levels, records at positions from 1, and changes; an outlier is hollow."""
    marks: list[Mark] = [Rule(y=mean * scale.factor, left=a + 0.5, right=b + 0.5, role="orange") for a, b, mean in history.levels]
    for change in history.changes:
        if change.kind in ("change", "suspected"):
            marks.append(Rule(x=change.index + 0.5, role="fail", dashed=change.kind == "suspected"))
    for index, at in enumerate(history.points):
        drawn = point(at.label, index + 1.0, at.value, scale)
        marks.append(replace(drawn, hollow=True) if index in history.outliers else drawn)
    return marks


def _key(history: History) -> tuple[Key, ...]:
    keys = [Key(mark="point", role="blue", text="record, with its interval"), Key(mark="line", role="orange", text="level")]
    kinds = {change.kind for change in history.changes}
    if "change" in kinds:
        keys.append(Key(mark="line", role="fail", text="change"))
    if "suspected" in kinds:
        keys.append(Key(mark="dash", role="fail", text="suspected: not certain yet"))
    if history.outliers:
        keys.append(Key(mark="hollow", role="blue", text="outlier, not part of a level"))
    return tuple(keys)


def _words(history: History, scale: Scale, work: str) -> str:
    parts = [f"{at.label}: {show(at.value, scale, work).text}" for at in history.points]
    events = [f"{change.kind} before record {change.index + 1}" for change in history.changes]
    events += [f"outlier at record {at + 1}" for at in history.outliers]
    return f"In order: {'; '.join(parts)}. Changes: {', '.join(events) or 'none'}."
