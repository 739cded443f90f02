"""What do all charts share: colours by role, the worker axis, and how a value with its interval is drawn?

Charts use placeholder colours, one per role; `fireassay.reports.charts.svg` replaces them in the SVG by CSS variables, so that one chart
serves light and dark pages. The palette is that of Okabe & Ito, "Color Universal Design" (2008), distinguishable with any colour vision;
no meaning is carried by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, scale_for
from fireassay.metrics.metric import ALL
from fireassay.reports.charts import vega
from fireassay.reports.view import MetricRow, View

WIDTH: Final = 400
HEIGHT: Final = 265
FONT_SIZE: Final = 14
LOG_FROM: Final = 10.0  # a larger ratio of worker counts gets a logarithmic axis
REACH: Final = 4.0  # multiple of the largest value at which intervals are clipped, to keep the rest readable

ROLES: Final = ("ink", "muted", "grid", "paper", "main", "second", "third", "fourth", "fifth", "sixth", "rest", "bad", "band")
CATEGORIES: Final = ("main", "second", "third", "fourth", "fifth", "sixth")
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
PLACEHOLDERS: Final[Mapping[str, str]] = {role: f"#fa{index:02x}ce" for index, role in enumerate(ROLES)}

Rows = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Key:
    """One entry of a chart's key: mark, colour and meaning."""

    mark: str  # point, hollow, dot, line, dash, dotted, bar, band, cross45 or one of SHAPES; drawn by the page
    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart before rendering. `description` holds its numbers in words, for screen readers."""

    title: str
    chart: vega.Chart
    caption: str
    description: str
    key: tuple[Key, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Why there is no chart."""

    title: str
    reason: str


def colour(role: str) -> str:
    """The placeholder colour of a role."""
    return PLACEHOLDERS[role]


def look(index: int) -> tuple[str, str]:
    """Shape and colour role of the nth series: the first six differ in both, later ones in the combination."""
    return SHAPES[index % len(SHAPES)], CATEGORIES[(index + index // len(SHAPES)) % len(CATEGORIES)]


def number_axis(**options: Any) -> vega.Spec:
    """A numeric axis in a subdued style."""
    return vega.axis(tickCount=5, **options)


def above(text: str) -> vega.Spec:
    """Name and unit of the vertical axis, written above it for legibility."""
    return vega.title(text, anchor="start", fontWeight="normal", fontSize=FONT_SIZE, color=colour("muted"), offset=8)


BY_ROLE: Final = vega.color("role:N", scale=None, legend=None)  # rows hold the placeholder of their colour


def limits(low: float, top: float, *, logarithmic: bool = False, **options: Any) -> vega.Spec:
    """A scale that ends exactly at these values; the logarithmic one has base 2."""
    return vega.scale(**({"type": "log", "base": 2} if logarithmic else {}), domain=[low, top], nice=False, **options)


def horizontal(low: float, top: float, title: str | None, **axis: Any) -> vega.Channel:
    """The horizontal channel of a field between limits."""
    scale = limits(low, top)
    return lambda field: vega.x(f"{field}:Q", scale=scale, axis=number_axis(title=title, **axis))


def vertical(low: float, top: float, *, logarithmic: bool = False, **scale: Any) -> vega.Channel:
    """The vertical channel of a field between limits."""
    ends = limits(low, top, logarithmic=logarithmic, **scale)
    return lambda field: vega.y(f"{field}:Q", scale=ends, axis=number_axis(title=None))


def log_ticks(low: float, top: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within the limits."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(top)) + 1)
    return [tick for power in powers for m in (1, 2, 5) if low <= (tick := round(m * 10.0**power, 12)) <= top]


def segments(name: str, parts: Iterable[tuple[str, float]], factor: float = 1.0, least: float = 0.0) -> Rows:
    """A stacked bar: (role, length) end to end, without those up to `least`."""
    rows: Rows = []
    at = 0.0
    for role, length in parts:
        if length > least:
            rows.append({"y": name, "from": at * factor, "to": (at + length) * factor, "role": colour(role)})
        at += length
    return rows


def bars(rows: Rows, names: Sequence[str], x: vega.Spec, *, padding: float = 0.3, **mark: Any) -> vega.Chart:
    """Horizontal bars from `from` to `to`, one line per name."""
    y = vega.y("y:N", sort=names, scale=vega.scale(domain=names, paddingInner=padding), axis=vega.axis(title=None, grid=False))
    drawn = vega.chart(rows).mark("bar", **{"stroke": colour("paper"), "strokeWidth": 1, **mark})
    return drawn.encode(x=x, x2="to:Q", y=y, color=BY_ROLE)


def used(rows: Rows, parts: Iterable[tuple[str, str]]) -> tuple[Key, ...]:
    """Key entries of the bars that occur in rows, from (role, text)."""
    roles = {row["role"] for row in rows}
    return tuple(Key(mark="bar", role=role, text=text) for role, text in parts if colour(role) in roles)


def sized(chart: vega.Chart, height: int = HEIGHT) -> vega.Chart:
    """The chart fitted to the common width, including axes."""
    return chart.properties(width=WIDTH, height=height, autosize={"type": "fit", "contains": "padding"})


# ------------------------------------------------------------------------------------------------ values with intervals


def estimates(view: View, row: MetricRow | None) -> dict[str, Estimate]:
    """Measured values of a metric by configuration key, in configuration order."""
    if row is None:
        return {}
    cells = {column.key: row.cells.get(column.key) for column in view.columns}
    return {k: c.value for k, c in cells.items() if c is not None and isinstance(c.value, Estimate)}


def absence(view: View, row: MetricRow | None, what: str) -> str:
    """Why a metric has no number in any configuration, in one sentence."""
    notes = dict.fromkeys(c.note for c in row.cells.values() if not c.measured) if row is not None else {}
    return f"{what}: not measured ({'; '.join(notes) or 'no launch recorded it'})."


def in_words(view: View, row: MetricRow) -> str:
    """A metric's numbers in one sentence."""
    cells = ((column.label, row.cells.get(column.key)) for column in view.columns)
    return f"{row.title}: " + "; ".join(f"{label} {cell.full}" for label, cell in cells if cell is not None) + "."


def of_whole(view: View, *names: str) -> str:
    """The values of the whole experiment in words, without metrics that have none."""
    rows = [row for name in names if (row := view.metric(name)) is not None]
    return " ".join(f"{row.title}: {row.cells[ALL].full}." for row in rows if ALL in row.cells)


def bounded(value: Estimate) -> bool:
    """Whether the interval is bounded on both sides."""
    return math.isfinite(value.low) and math.isfinite(value.high)


def has_interval(value: Estimate) -> bool:
    """Whether the interval is bounded on some side; with a single launch it is not."""
    return bounded(value) or (value.n_launches > 1 and (math.isfinite(value.low) or math.isfinite(value.high)))


def has_width(value: Estimate) -> bool:
    """Whether there is an interval to draw: an exact value has none."""
    return has_interval(value) and value.high > value.low


def interval_row(value: Estimate, factor: float, floor: float, ceiling: float) -> dict[str, Any]:
    """value, low and high in display units; ends beyond the chart are clipped, without a cap; none for a single launch."""
    shown = {"value": value.value * factor, "low": value.value * factor, "high": value.value * factor}
    if has_interval(value):
        shown["low"] = max(value.low * factor, floor)
        shown["high"] = min(value.high * factor, ceiling)
    cut = has_interval(value) and value.high * factor > ceiling
    return {**shown, "hollow": not has_interval(value), "cut": cut}


def interval_rows(view: View, values: Mapping[str, Estimate], factor: float, floor: float, ceiling: float) -> Rows:
    """`interval_row` of every configuration, with its worker count."""
    workers = {column.key: column.workers for column in view.columns}
    return [{"x": workers[key], **interval_row(value, factor, floor, ceiling)} for key, value in values.items()]


def top_of(values: Iterable[Estimate], factor: float, margin: float = 1.08) -> float:
    """Upper end of an axis for all values, launch dots, and interval ends up to `REACH`."""
    listed = list(values)
    reach = REACH * max((value.value for value in listed), default=0.0)
    largest = 0.0
    for value in listed:
        ends = [value.value, *value.launch_values, *(e for e in (value.low, value.high) if math.isfinite(e))]
        if value.n_launches <= 1:
            ends = [value.value]
        largest = max(largest, *(min(end, max(reach, value.value)) * factor for end in ends))
    return largest * margin if largest > 0 else 1.0


def points(rows: Rows, x: vega.Spec, y: vega.Channel, role: str = "main") -> list[vega.Chart]:
    """Capped interval and point of each row; `y` makes the vertical channel of a field."""
    base = vega.chart(rows)
    return [*upright(base, x, y, role), *markers(base, x, y("value"), role)]


def upright(base: vega.Chart, x: vega.Spec, y: vega.Channel, role: str = "main", width: int = 15) -> list[vega.Chart]:
    """Vertical intervals with caps, visible even if the interval is shorter than its point."""
    bounded_rows = base.transform_filter("datum.high > datum.low")
    rule = bounded_rows.mark("rule", strokeWidth=2, color=colour(role)).encode(x=x, y=y("low"), y2="high:Q")
    cap = bounded_rows.mark("tick", orient="horizontal", thickness=2, size=width, opacity=1, color=colour(role))
    whole = cap.transform_filter("!datum.cut")
    return [rule, cap.encode(x=x, y=y("low")), whole.encode(x=x, y=y("high"))]


def level(base: vega.Chart, x: vega.Channel, y: vega.Spec, role: str = "main", width: int = 15) -> list[vega.Chart]:
    """Horizontal version of `upright`; `x` makes the horizontal channel of a field."""
    bounded_rows = base.transform_filter("datum.high > datum.low")
    rule = bounded_rows.mark("rule", strokeWidth=2, color=colour(role)).encode(x=x("low"), x2="high:Q", y=y)
    cap = bounded_rows.mark("tick", orient="vertical", thickness=2, size=width, opacity=1, color=colour(role))
    whole = cap.transform_filter("!datum.cut")
    return [rule, cap.encode(x=x("low"), y=y), whole.encode(x=x("high"), y=y)]


def markers(base: vega.Chart, x: vega.Spec, y: vega.Spec, role: str = "main") -> list[vega.Chart]:
    """A filled point for a value with an interval, a hollow one for a value without."""
    look = {"filled": True, "opacity": 1.0}
    filled = base.transform_filter("!datum.hollow").mark(
        "point", **look, size=48, color=colour(role), stroke=colour("paper"), strokeWidth=1
    )
    hollow = base.transform_filter("datum.hollow").mark(
        "point", **look, size=70, fill=colour("paper"), stroke=colour(role), strokeWidth=2.5
    )
    return [filled.encode(x=x, y=y), hollow.encode(x=x, y=y)]


def interval_key(values: Iterable[Estimate], view: View, what: str, role: str = "main") -> list[Key]:
    """The key of `points`: the confidence if there are intervals, the hollow mark for values without."""
    listed = list(values)
    keys = []
    if any(has_width(value) for value in listed):
        reach = REACH * max(value.value for value in listed)
        further = "; without a cap, it continues" if any(has_width(value) and value.high > reach for value in listed) else ""
        keys.append(Key(mark="point", role=role, text=f"{what}, bar: {view.confidence} interval{further}"))
    elif any(has_interval(value) for value in listed):
        keys.append(Key(mark="circle", role=role, text=f"{what}, exact"))
    if any(not has_interval(value) for value in listed):
        keys.append(Key(mark="hollow", role=role, text=f"{what}, one launch: no interval"))
    return keys


def dot_key(values: Iterable[Estimate], what: str) -> list[Key]:
    """The key of launch dots, if any."""
    several = any(len(value.launch_values) > 1 for value in values)
    return [Key(mark="dot", role="main", text=what)] if several else []


# ------------------------------------------------------------------------------------------------------- the worker axis


@dataclass(frozen=True, kw_only=True)
class WorkerAxis:
    """The horizontal axis of worker counts, logarithmic if they span more than a decade.

    `reach`: a count beyond the levels to include without a label.
    """

    levels: tuple[int, ...]
    reach: float = 0.0

    @property
    def logarithmic(self) -> bool:
        """Whether the axis is logarithmic."""
        return max(*self.levels, self.reach) / min(self.levels) > LOG_FROM

    @property
    def domain(self) -> tuple[float, float]:
        """Axis limits, with a little room on both sides of the levels."""
        low, high = min(self.levels), max(*self.levels, self.reach)
        if self.logarithmic:
            return low / 1.25, high * 1.25
        room = max(0.08 * (high - low), 0.35)
        return low - room, high + room

    def beside(self, level: int, offset: float) -> float:
        """A position offset by `offset` (-1..1) from a level, so that dots do not overlap."""
        low, high = self.domain
        if self.logarithmic:
            return float(level * (high / low) ** (0.022 * offset))
        return level + 0.022 * offset * (high - low)

    def ticks(self) -> tuple[int, ...]:
        """The labelled levels: all, or those whose labels fit."""
        low, high = self.domain
        scaled = math.log if self.logarithmic else float
        width = scaled(high) - scaled(low)
        kept: list[int] = []
        for level in sorted(self.levels, reverse=True):
            if not kept or (scaled(kept[-1]) - scaled(level)) / width > 0.05:
                kept.append(level)
        return tuple(sorted(kept))

    def channel(self, field: str = "x") -> vega.Spec:
        """The encoding of a field with positions on this axis."""
        scale = vega.scale(domain=list(self.domain), zero=False, nice=False, clamp=False)
        if self.logarithmic:
            scale = vega.scale(type="log", base=2, domain=list(self.domain), nice=False)
        axis = vega.axis(title="workers", values=list(self.ticks()), format="d", grid=False)
        return vega.x(f"{field}:Q", scale=scale, axis=axis)


def worker_axis(view: View) -> WorkerAxis:
    """The worker axis of a view."""
    return WorkerAxis(levels=tuple(column.workers for column in view.columns))


def launch_dots(values: Mapping[str, Estimate], view: View, axis: WorkerAxis, factor: float, *, top: float = math.inf) -> Rows:
    """One row per launch value, fanned out to the right of its worker count."""
    workers = {column.key: column.workers for column in view.columns}
    rows: Rows = []
    for key, value in values.items():
        k = len(value.launch_values)
        for index, launch in enumerate(value.launch_values if k > 1 else ()):
            shown = launch * factor
            if math.isfinite(shown) and shown <= top:
                rows.append({"x": axis.beside(workers[key], 1.1 + 1.3 * index / max(k - 1, 1)), "y": shown})
    return rows


def dots(rows: Rows, x: vega.Spec, y: vega.Channel, role: str = "main") -> vega.Chart:
    """Launch dots."""
    return vega.chart(rows).mark("circle", size=22, opacity=0.55, color=colour(role)).encode(x=x, y=y("y"))


def common_scale(row: MetricRow) -> Scale:
    """The scale of a metric's row in the tables, so that chart and table agree."""
    return next((cell.scale for cell in row.cells.values() if cell.measured), scale_for(row.unit, ()))
