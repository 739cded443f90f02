"""What do the charts of a record share?  Its numbers, why there is none, its blocks as dots, and its courses for a workbook."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay import catalog
from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, scale_for
from fireassay.metrics.metric import ALL
from fireassay.reports.charts.axes import LOG_FROM, levels_axis, written_tick
from fireassay.reports.charts.model import REFERENCE, Axis, Chart, Charts, Course, Dot, Key, Panel, Role, Spot
from fireassay.reports.charts.points import has_interval, has_width
from fireassay.reports.view import Column, MetricRow, View

MAX_LABELS: Final = 8  # of a linear axis of whole numbers in a workbook
Draw = Callable[[View], Charts]


def charts_of(view: View) -> Charts:
    """All charts of a record, in the order of its kind's page."""
    return tuple(chart for draw in catalog.part("kinds", view.kind.name, "show", "charts")(view) for chart in draw(view))


def worker_axis(view: View, reach: float = 0.0) -> Axis:
    """The horizontal axis of worker counts, logarithmic if they span more than a decade.

    `reach`: a count beyond the levels to include without a label.
    """
    return levels_axis([column.workers for column in view.columns], "workers", reach)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def estimates(view: View, row: MetricRow | None) -> dict[str, Estimate]:
    """Configuration -> estimate, for those measured, in their order."""
    values = {column.key: row.cells[column.key].value for column in view.columns if column.key in row.cells} if row is not None else {}
    return {key: value for key, value in values.items() if isinstance(value, Estimate)}


def absence(row: MetricRow | None, what: str) -> str:
    """Why a metric has no number in any configuration, in one sentence."""
    notes = dict.fromkeys(c.note for c in row.cells.values() if not c.measured) if row is not None else {}
    return f"{what}: not measured ({'; '.join(notes) or 'no launch recorded it'})."


def in_words(view: View, *rows: MetricRow | None) -> str:
    """The numbers of metrics, each in one sentence."""
    return " ".join(f"{row.title}: {'; '.join(_cells(view, row))}." for row in rows if row is not None)


def _cells(view: View, row: MetricRow) -> list[str]:
    return [f"{column.label} {row.cells[column.key].full}" for column in view.columns if column.key in row.cells]


def of_whole(view: View, *names: str) -> str:
    """The values of the whole experiment in words, without metrics that have none."""
    rows = [row for name in names if (row := view.metric(name)) is not None]
    return " ".join(f"{row.title}: {row.cells[ALL].full}." for row in rows if ALL in row.cells)


def common_scale(row: MetricRow) -> Scale:
    """The scale of a metric's row in the tables, so that chart and table agree."""
    return next((cell.scale for cell in row.cells.values() if cell.measured), scale_for(row.unit, ()))


# ---- marks and keys --------------------------------------------------------------------------------------------------


def block_dots(view: View, key: str, value: Estimate, factor: float) -> list[Dot]:
    """One pale dot per block of a pair with the base, at the origin; hollow if a launch was disturbed; none for a single block."""
    values = value.launch_values if len(value.launch_values) > 1 else ()
    sides = [
        {row.block: row for row in view.launches if (row.configuration, row.role, row.status) == (side, "timed", "ok")}
        for side in (view.base, key)
    ]
    blocks = sorted(sides[0].keys() & sides[1].keys())
    if len(blocks) != len(values):  # some launch has no value: which one is unknown
        return [_dot(v * factor, f"{view.label(key)}: {written_tick(v * factor)}") for v in values if math.isfinite(v)]
    dots = []
    for block, v in zip(blocks, values, strict=True):
        rows = {side[block].number: side[block] for side in sides}.values()
        told = (f"#{row.number} disturbed: {row.disturbances}" for row in rows if row.disturbed)
        tip = "\n".join((f"{view.label(key)}, round {block}: {written_tick(v * factor)}", *told))
        if math.isfinite(v):
            dots.append(_dot(v * factor, tip, hollow=any(row.disturbed for row in rows)))
    return dots


def _dot(y: float, tip: str, *, hollow: bool = False) -> Dot:
    return Dot(x=0.0, y=y, series="block", hollow=hollow, tip=tip)


def interval_key(values: Iterable[Estimate], view: View, what: str, role: Role = "blue") -> list[Key]:
    """The key of points: the confidence if there are intervals, the hollow mark for values without."""
    listed, keys = list(values), []
    if any(has_width(value) for value in listed):
        keys.append(Key(mark="point", role=role, text=f"{what} and {view.confidence} interval"))
    elif any(has_interval(value) for value in listed):
        keys.append(Key(mark="diamond", role=role, text=f"{what}, exact"))
    if any(not has_interval(value) for value in listed):
        keys.append(Key(mark="hollow", role=role, text=f"{what}, one launch: no interval"))
    return keys


# ---- courses of a workbook -------------------------------------------------------------------------------------------


def workbook(title: str, courses: Sequence[Course], x: Axis, y: Axis, *, stub: str = "Configuration", caption: str = "") -> Chart:
    """The chart of a workbook."""
    panel = Panel(x=x, y=y, marks=tuple(courses))
    return Chart(title=title, stub=stub, caption=caption, panels=(panel,))


def course(row: MetricRow, columns: Sequence[Column], at: str, **look: Any) -> Course:
    """A metric at these configurations, in the unit of its row in the tables, over the load of each or its workers; `at`: their head."""
    spots = tuple(Spot(name=one.label, x=one.workers if one.load is None else one.load, y=value_at(row, one)) for one in columns)
    return replace(Course(name=row.title, quantity=quantity(row), spots=spots, factor=common_scale(row).factor, at=at), **look)


def value_at(row: MetricRow, column: Column) -> Value | None:
    """A metric at a configuration; None if it was not computed there."""
    cell = row.cells.get(column.key)
    return None if cell is None else cell.value


def quantity(row: MetricRow) -> str:
    """A metric's title and unit: the head of a column."""
    unit = {"1/s": "" if "per second" in row.title else "requests per second", "workers": "", "steps": ""}.get(row.unit)
    unit = common_scale(row).label if unit is None else unit
    return f"{row.title}, {unit}" if unit else row.title


def counts_axis(title: str, numbers: Iterable[float]) -> Axis:
    """An axis of counts: logarithmic if they span more than a decade, else with a label for each whole number if they fit."""
    known = sorted(numbers)
    if known[0] > 0 and known[-1] / known[0] > LOG_FROM:
        return Axis(title=title, base=2)
    whole = all(number == round(number) for number in known) and known[-1] <= MAX_LABELS
    return Axis(title=title, step=1.0 if whole else None)


def over_workers(view: View, metric: str, title: str, lines: Mapping[str, Callable[[Column], float]], *, alike: bool = False) -> Charts:
    """A metric over worker counts, with lines in its unit by their heads; none if it has no number. `alike`: both axes have one scale."""
    row = view.metric(metric)
    if row is None or not estimates(view, row):
        return ()
    known = course(row, view.columns, view.kind.workers)
    ideal = [
        replace(known, name=head.partition(",")[0], quantity=head, look="dashes", colour=REFERENCE, spots=spots)
        for head, of in lines.items()
        for spots in (tuple(replace(spot, y=of(column)) for spot, column in zip(known.spots, view.columns, strict=True)),)
    ]
    x = counts_axis(view.kind.workers.lower(), (column.workers for column in view.columns))
    return (workbook(title, (known, *ideal), x, Axis(title=known.quantity, base=x.base if alike else 0)),)
