"""How much latency does throughput cost, how much of the offered load was good, and how do the headline metrics change as the load grows?

Lines over the load, one colour and shape per engine, small multiples by scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, count, given, show
from fireassay.metrics.serving.latency import TPOT_P50, TPOT_P99, TTFT_P50, TTFT_P99
from fireassay.metrics.serving.objectives import GOODPUT
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports.charts.axes import levels_axis, linear, top_of
from fireassay.reports.charts.model import Axis, Chart, Charts, Dot, Drawn, Key, Panel, Point, Role, Shape, named
from fireassay.reports.charts.model import Line as Path
from fireassay.reports.charts.of_view import absence, common_scale, counts_axis, course, in_words, quantity, value_at, workbook
from fireassay.reports.charts.points import CATEGORIES, SHAPES, has_interval, has_width, path, point
from fireassay.reports.metric_tables import CURVE_ACROSS, CURVE_UP, PANEL, MetricTable
from fireassay.reports.view import Column, MetricRow, View

AXIS: Final = {"concurrency": "requests in flight", "rate": "requests per second offered", "": "load"}
AXIS_WORDS: Final = {"concurrency": "requests in flight", "rate": "requests offered per second", "": "as planned"}
IN_CELLS: Final = {"concurrency": "requests in flight", "rate": "offered requests per second", "": "load"}
ACROSS: Final = {"concurrency": "Each over the requests in flight.", "rate": "Each over the requests offered per second.", "": ""}
SMALL: Final = 120  # height of a small multiple
ENOUGH: Final = 0.6  # share of the loads at which any of the metrics has a number
CLOSE: Final = 0.1  # of both axes: labels of points closer than that would touch


@dataclass(frozen=True, kw_only=True)
class Line:
    """Loads of one engine under one scenario, ascending."""

    name: str
    columns: tuple[Column, ...]
    place: int  # index of its colour and shape

    @property
    def role(self) -> Role:
        """Its colour."""
        return CATEGORIES[self.place % len(CATEGORIES)]

    @property
    def shape(self) -> Shape:
        """Its mark."""
        return SHAPES[self.place % len(SHAPES)]

    def through(self, points: Sequence[Point]) -> list[Drawn]:
        """Points in its look, and a line through them."""
        styled = [replace(at, role=self.role, shape=self.shape, series=self.name) for at in points]
        return path(styled, role=self.role, series=self.name)


def scenarios(view: View) -> tuple[str, ...]:
    """Distinct scenarios in the requested order."""
    return tuple(dict.fromkeys(column.scenario for column in view.columns))


def lines(view: View, by: Callable[[Column], str], scenario: str | None = None) -> tuple[Line, ...]:
    """Columns grouped by a condition, of one scenario or all; a name keeps its colour in every chart."""
    ascending = sorted(view.columns, key=lambda column: column.load or 0.0)
    kept = [column for column in ascending if scenario is None or column.scenario == scenario]
    of = {name: tuple(column for column in kept if by(column) == name) for name in dict.fromkeys(map(by, view.columns))}
    return tuple(Line(name=name, columns=columns, place=place) for place, (name, columns) in enumerate(of.items()) if columns)


def engines(view: View, scenario: str | None = None) -> tuple[Line, ...]:
    """One line per engine."""
    return lines(view, lambda column: column.engine, scenario)


def estimate(row: MetricRow | None, column: Column) -> Estimate | None:
    """A metric's estimate at one load, if measured."""
    cell = row.cells.get(column.key) if row is not None else None
    return cell.value if cell is not None and isinstance(cell.value, Estimate) else None


def estimates_of(row: MetricRow | None, series: Sequence[Line]) -> list[Estimate]:
    """A metric's estimates along lines."""
    return [value for line in series for column in line.columns if (value := estimate(row, column)) is not None]


def drawn(row: MetricRow, line: Line, scale: Scale, across: Callable[[Column], float]) -> list[Drawn]:
    """A line through a metric's estimates in order, with intervals and marks."""
    known = [(column, value) for column in line.columns if (value := estimate(row, column)) is not None]
    return line.through([point(column.label, across(column), value, scale) for column, value in known])


def line_keys(confidence: str, series: Sequence[Line], values: Sequence[Estimate]) -> list[Key]:
    """One entry per line, plus entries for bars and hollow marks if present."""
    several = len(series) > 1
    keys = [Key(mark=line.shape, role=line.role, text=line.name or "server", series=line.name if several else "") for line in series]
    if any(has_width(value) for value in values):
        keys.append(Key(mark="point", role="soft", text=f"bars: {confidence} interval"))
    if any(not has_interval(value) for value in values):
        keys.append(Key(mark="hollow", role="soft", text="one launch: no interval"))
    return keys


def load_of(column: Column) -> float:
    """Where it lies on an axis of loads."""
    return column.load or 0.0


def load_axis(view: View, title: str = "") -> Axis:
    """Horizontal axis of loads: a tick for every load whose label fits."""
    return levels_axis(list(map(load_of, view.columns)), title)


def load_label(load: float | None, mark: Point, others: Sequence[Point], close: float, right: float, top: float) -> str:
    """The load beside its point, unless another point is so close that labels would touch."""
    free = all(abs(mark.x - other.x) > close * right or abs(mark.y - other.y) > close * top for other in others)
    return given(load) if free and load is not None else ""


# ---- latency against throughput --------------------------------------------------------------------------------------


@named("load-curve")
def curve(view: View) -> Chart:
    """Tail time to first token over tokens per second, the operating point marked; small multiples for several scenarios."""
    title, every = "Latency against throughput", engines(view)
    across, up = _measured(view, CURVE_ACROSS, every), _measured(view, CURVE_UP, every)
    if across is None or up is None or not any(_place(across, up, column) for column in view.columns):
        return Chart(title=title, missing="Throughput and a latency were not both measured at any load.")
    names, wide = scenarios(view), quantity(across)[:1].lower() + quantity(across)[1:]
    panels = [_curve_panel(view, across, up, name, wide if len(names) == 1 else "") for name in names]
    keys = line_keys(view.confidence, every, estimates_of(up, every))
    if any(isinstance(mark, Dot) for panel in panels for mark in panel.marks):
        keys.append(Key(mark="ring", role="ink", text="operating point: the largest load that meets the objectives"))
    cells = ((column, across.cells.get(column.key), up.cells.get(column.key)) for column in view.columns)
    known = ((column, a, b) for column, a, b in cells if a is not None and b is not None and a.measured and b.measured)
    over = f"{quantity(up)} over {wide}. " if len(names) > 1 else ""
    return Chart(
        title=title,
        panels=tuple(panels),
        across=2 if len(names) > 1 else 1,
        key=tuple(keys),
        description="; ".join(f"{column.label}: {a.full} at {up.title} {b.full}" for column, a, b in known) + ".",
        caption=f"{over}Numbers at the points are loads ({AXIS_WORDS[view.load_word]}). Lower right is better.",
        quantity=quantity(up),
    )


def _measured(view: View, table: MetricTable, series: Sequence[Line]) -> MetricRow | None:
    """The first metric with numbers at most loads: a tail estimated at one load only makes no curve."""
    rows = [(row, len(estimates_of(row, series))) for _, row in view.shown_in(table)]
    most = max((known for _, known in rows), default=0)
    return next((row for row, known in rows if known and known >= ENOUGH * most), None)


def _place(across: MetricRow, up: MetricRow, column: Column) -> tuple[Estimate, Estimate] | None:
    """Throughput and latency at one load, if both are measured."""
    a, b = estimate(across, column), estimate(up, column)
    return None if a is None or b is None else (a, b)


def _curve_panel(view: View, across: MetricRow, up: MetricRow, scenario: str, title: str) -> Panel:
    """The curve of each engine under one scenario; without a title of the axis as a small multiple, which share their axes."""
    series, wide, high = engines(view, scenario), common_scale(across), common_scale(up)
    every = series if title else engines(view)
    right, top = top_of(estimates_of(across, every), wide.factor), top_of(estimates_of(up, every), high.factor)
    picked = {row.configuration for row in view.recommendations if row.goal.startswith("recommended")}
    marks: list[Drawn] = []
    rings: list[Drawn] = []
    labelled: list[Point] = []
    for line in series:
        points = []
        for column, (a, b) in ((column, found) for column in line.columns if (found := _place(across, up, column)) is not None):
            mark = point(column.label, a.value * wide.factor, b, high, more=f"at {show(a, wide).full}")
            mark = replace(mark, label=load_label(column.load, mark, labelled, CLOSE, right, top))
            labelled.append(mark)
            points.append(mark)
            if column.key in picked:
                rings.append(Dot(x=mark.x, y=mark.y, role="ink", hollow=True, large=True))
        marks += line.through(points)
    return Panel(
        x=linear(0, right, title, most=5 if title else 3, grid=False),
        y=linear(0, top, most=5 if title else 3),
        marks=(*marks, *rings),
        height=220 if title else SMALL,
        title=quantity(up) if title else scenario,
    )


# ---- goodput ---------------------------------------------------------------------------------------------------------


@named("load-goodput")
def goodput(view: View) -> Chart | Charts:
    """Goodput over the load, and the line at which every request is good; small multiples for scenarios; empty without objectives."""
    title, row, every = "Goodput against load", view.metric(GOODPUT.name), engines(view)
    if row is None:
        return ()
    values, names, offered = estimates_of(row, every), scenarios(view), view.load_word == "rate"
    if not values:
        return Chart(title=title, missing=absence(row, "Goodput"))
    small, loads = len(names) > 1, sorted(set(map(load_of, view.columns)))
    most = 1.08 * max(loads[-1], *(value.value for value in values)) if offered else float("inf")  # intervals are cut at the offered load
    ideal = [Path(points=tuple((load, load) for load in loads), role="soft", dashed=True, thin=True)] if offered else []
    scale = common_scale(row)
    panels = [
        Panel(
            x=load_axis(view, "" if small else AXIS[view.load_word]),
            y=linear(0, min(top_of(values, 1.0), most), most=3 if small else 5),
            marks=(*ideal, *(mark for line in engines(view, name) for mark in drawn(row, line, scale, load_of))),
            height=SMALL if small else 200,
            title=name if small else quantity(row),
        )
        for name in names
    ]
    over = f"Good requests per second over the {AXIS[view.load_word]}. " if small else ""
    key = [*line_keys(view.confidence, every, values)]
    return Chart(
        title=title,
        panels=tuple(panels),
        across=2 if small else 1,
        key=(*key, *([Key(mark="dash", role="soft", text="every request due was good")] if offered else [])),
        description=in_words(view, row),
        caption=f"{over}A request is good if it met every objective; one that failed met none.",
        quantity="goodput, requests per second",
    )


# ---- headline metrics ------------------------------------------------------------------------------------------------

Condition = Literal["engine", "scenario", "load"]


@named("load-panel")
def panel(view: View) -> Chart:
    """The headline metrics by engine."""
    return panel_by("engine", view)


def panel_by(by: Condition, view: View) -> Chart:
    """Two columns of panels, one per measured metric; grouped by load, scenarios or engines lie along the axis."""
    grouped, every = lines(view, partial(_group, view, by)), view.shown_in(PANEL)
    shown = [(column.head, row) for column, row in every if estimates_of(row, grouped)]
    if not shown:
        reason = "None of the headline metrics was measured." if every else "This record holds no load."
        return Chart(title=f"Headline metrics by {by}", missing=reason)
    over = ACROSS[view.load_word] if by != "load" else ""
    return Chart(
        title=f"{count(len(shown), 'metrics').capitalize()} by {by}",
        panels=tuple(_panel(view, head, row, grouped, by) for head, row in shown),
        across=2,
        key=tuple(line_keys(view.confidence, grouped, [value for _, row in shown for value in estimates_of(row, grouped)])),
        caption=f"{over} Every number is in the tables.".strip(),
        description=in_words(view, *(row for _, row in shown)),
    )


def conditions(view: View) -> tuple[Condition, ...]:
    """The conditions that this record varies."""
    names: tuple[Condition, ...] = ("engine", "scenario", "load")
    return tuple(name for name in names if len({getattr(column, name) for column in view.columns}) > 1) or ("engine",)


def _group(view: View, by: Condition, column: Column) -> str:
    if by == "load":
        return f"{given(column.load)} {view.load_word}" if column.load is not None else "as planned"
    name, other = (column.engine, column.scenario) if by == "engine" else (column.scenario, column.engine)
    others = {c.scenario if by == "engine" else c.engine for c in view.columns}
    return f"{name}, {other}" if len(others) > 1 else name


def _panel(view: View, head: str, row: MetricRow, grouped: tuple[Line, ...], by: Condition) -> Panel:
    scale, x, across = common_scale(row), load_axis(view), load_of
    if by == "load":
        places = list(dict.fromkeys((column.engine, column.scenario) for column in view.columns))
        several = len({engine for engine, _ in places}) > 1
        ticks = tuple((float(i), engine if several else scenario) for i, (engine, scenario) in enumerate(places))
        x = Axis(low=-0.5, high=len(places) - 0.5, ticks=ticks, grid=False)
        across = lambda column: float(places.index((column.engine, column.scenario)))  # noqa: E731
    y = linear(0, top_of(estimates_of(row, grouped), scale.factor), most=3)
    marks = tuple(mark for line in grouped for mark in drawn(row, line, scale, across))
    title = ", ".join(part for part in (head, "" if row.unit == "1/s" else scale.label) if part)
    return Panel(x=x, y=y, marks=marks, height=SMALL, title=title)


# ---- for a workbook --------------------------------------------------------------------------------------------------


def in_cells(view: View) -> Charts:
    """Throughput, latencies and goodput over the load, and latency against throughput."""
    tokens = view.metric(OUTPUT_THROUGHPUT.name)
    throughput = tokens if tokens is not None and tokens.known else view.metric(REQUEST_THROUGHPUT.name)
    return (
        *_over_load(view, "Throughput over load", throughput),
        *_over_load(view, "Time to first token over load", *map(view.metric, (TTFT_P50.name, TTFT_P99.name))),
        *_over_load(view, "Time per output token over load", *map(view.metric, (TPOT_P50.name, TPOT_P99.name))),
        *_over_load(view, "Goodput over load", view.metric(GOODPUT.name)),
        *_curve_in_cells(view, throughput, view.metric(TTFT_P50.name)),
    )


def _groups(columns: Sequence[Column]) -> Iterator[tuple[int, str, tuple[Column, ...]]]:
    """Each group of columns in the order of their load, with its index."""
    for index, name in enumerate(dict.fromkeys(column.group for column in columns)):
        yield index, name, tuple(sorted((column for column in columns if column.group == name), key=load_of))


def _over_load(view: View, title: str, *metrics: MetricRow | None) -> Charts:
    """A line per metric of each engine and scenario."""
    loaded = [column for column in view.columns if column.load is not None]
    known = [row for row in metrics if any(estimate(row, column) for column in loaded) and row is not None]
    if not known:
        return ()
    at, places = IN_CELLS[view.load_word].capitalize(), [row.title.rpartition(", ")[2] if len(known) > 1 else "" for row in known]
    courses = [
        course(row, columns, at, name=", ".join(part for part in (group, place) if part) or row.title, colour=index, look=look)
        for index, group, columns in _groups(loaded)
        for row, place, look in zip(known, places, ("joined", "dotted"), strict=False)
    ]
    first = quantity(known[0])
    heading = first if len(known) == 1 else f"{title.removesuffix(' over load')}, {first.rpartition(', ')[2]}"
    return (workbook(title, courses, counts_axis(IN_CELLS[view.load_word], map(load_of, loaded)), Axis(title=heading)),)


def _curve_in_cells(view: View, throughput: MetricRow | None, latency: MetricRow | None) -> Charts:
    """A latency against the throughput, with intervals of both."""
    measured = [any(estimate(row, column) for column in view.columns) for row in (throughput, latency)]
    if throughput is None or latency is None or not all(measured):
        return ()
    at = IN_CELLS[view.load_word].capitalize()
    courses = []
    for index, group, columns in _groups(view.columns):
        made = course(latency, columns, at, name=group or latency.title, colour=index)
        spots = zip(made.spots, columns, strict=True)
        placed = tuple(replace(spot, x=column.load, across=value_at(throughput, column)) for spot, column in spots)
        courses.append(replace(made, spots=placed, factor_across=common_scale(throughput).factor))
    note = "Points in order of the load; lower right is better."
    x, y = Axis(title=quantity(throughput)), Axis(title=quantity(latency))
    return (workbook("Latency against throughput", courses, x, y, caption=note),)
