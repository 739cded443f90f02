"""What do all charts share: colours by role, the worker axis, and how a value with its interval becomes a mark?

Blue is computing or the first series, orange communication or the second, on every page. Series differ by shape as well as by colour,
parts by pattern or a gap, so that no meaning is carried by colour alone; none has the colour of a status.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, Shown, count, percent, scale_for, show
from fireassay.estimates.rounding import written
from fireassay.metrics.metric import ALL
from fireassay.reports.charts.marks import Axis, Bar, Dot, Look, Mark, Panel, Point, Reading, Role, Shape
from fireassay.reports.view import MetricRow, View

LOG_FROM: Final = 10.0  # a larger ratio of worker counts gets a logarithmic axis
REACH: Final = 4.0  # multiple of the largest value beyond which an interval is cut, to keep the rest readable
CATEGORIES: Final[tuple[Role, ...]] = ("blue", "orange", "teal", "plum", "gold", "sky")
SHAPES: Final[tuple[Shape, ...]] = ("circle", "square", "triangle-up", "diamond", "triangle-down", "plus")
NICE: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Key:
    """An entry of a chart's key; one that names a series can switch it off."""

    mark: str  # point, hollow, ring, dot, line, dash, bar, band or a shape; drawn by the page
    role: Role
    text: str
    look: Look = ""
    series: str = ""
    off: bool = False  # switched off until a reader wants it


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart before it is drawn. `description` says its result in words, for screen readers."""

    title: str
    panels: tuple[Panel, ...]
    caption: str
    description: str
    key: tuple[Key, ...] = ()
    quantity: str = "value"  # head of the values in the chart's table
    across: int = 1  # panels side by side


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Why there is no chart."""

    title: str
    reason: str


def look(index: int) -> tuple[Shape, Role]:
    """Shape and colour role of the nth series: the first six differ in both, later ones in the combination."""
    return SHAPES[index % len(SHAPES)], CATEGORIES[(index + index // len(SHAPES)) % len(CATEGORIES)]


# ---- axes ------------------------------------------------------------------------------------------------------------


def written_tick(value: float) -> str:
    """A tick as text, with a true minus and separators."""
    return written(Decimal(f"{value:.4g}")) if abs(value) < 1e6 else f"{value:g}"


def ticks(low: float, high: float, most: int = 5) -> tuple[tuple[float, str], ...]:
    """At most `most` round ticks within the limits."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return ((low, written_tick(low)),)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next((m * power for m in NICE if span / (m * power) <= most), 10.0 * power)
    first = math.ceil(low / step - 1e-9)
    values = [round(index * step, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]
    return tuple((value, written_tick(value)) for value in values)


def log_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """1, 2 and 5 times the powers of ten within the limits; the powers alone if that is too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 30 else (1, 3) if high / low < 1000 else (1,)
    values = [tick for power in powers for m in steps if low <= (tick := float(f"{m * 10.0**power:.6g}")) <= high]
    return tuple((value, written_tick(value)) for value in values)


def linear(low: float, high: float, title: str = "", *, most: int = 5, grid: bool = True) -> Axis:
    """An axis between limits, with round ticks."""
    return Axis(low=low, high=high, ticks=ticks(low, high, most), title=title, grid=grid)


def logarithmic(low: float, high: float, title: str = "", *, grid: bool = True) -> Axis:
    """A logarithmic axis between limits."""
    return Axis(low=low, high=high, log=True, ticks=log_ticks(low, high), title=title, grid=grid)


def spanned(values: Sequence[float], low: float, high: float, title: str = "", *, grid: bool = True) -> Axis:
    """An axis from `low` to `high`; a logarithmic one, without zero, if the values span more than a decade."""
    if min(values) > 0 and max(values) / min(values) > LOG_FROM:
        return logarithmic(low if low > 0 else min(values) / 1.5, high * 1.1, title, grid=grid)
    return linear(low, high, title, grid=grid)


def rows_axis(names: Iterable[str], row: int = 44) -> Axis:
    """A row for each name."""
    return Axis(names=tuple(names), row=row)


def worker_axis(view: View, reach: float = 0.0) -> Axis:
    """The horizontal axis of worker counts, logarithmic if they span more than a decade.

    `reach`: a count beyond the levels to include without a label.
    """
    return levels_axis([column.workers for column in view.columns], "workers", reach)


def levels_axis(levels: Sequence[float], title: str, reach: float = 0.0) -> Axis:
    """An axis with a tick at each level whose label fits."""
    low, high = min(levels), max(*levels, reach)
    log = low > 0 and high / low > LOG_FROM
    scaled = math.log if log else float
    ends = (low / 1.25, high * 1.25) if log else (low - max(0.08 * (high - low), 0.35), high + max(0.08 * (high - low), 0.35))
    width = scaled(ends[1]) - scaled(ends[0]) if ends[0] > 0 or not log else 1.0
    kept: list[float] = []
    for level in sorted(set(levels), reverse=True):
        if not kept or (scaled(kept[-1]) - scaled(level)) / width > 0.05 + 0.012 * len(written_tick(level)):
            kept.append(level)
    return Axis(low=ends[0], high=ends[1], log=log, ticks=tuple((x, written_tick(x)) for x in reversed(kept)), title=title, grid=False)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def estimates(view: View, row: MetricRow | None) -> dict[str, Estimate]:
    """Configuration -> estimate, for those measured, in their order."""
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


def common_scale(row: MetricRow) -> Scale:
    """The scale of a metric's row in the tables, so that chart and table agree."""
    return next((cell.scale for cell in row.cells.values() if cell.measured), scale_for(row.unit, ()))


# ---- marks -----------------------------------------------------------------------------------------------------------


def reading(name: str, shown: Shown, *, more: str = "") -> Reading:
    """The reading of an estimate, in its scale."""
    value, factor = shown.value, shown.scale.factor
    assert isinstance(value, Estimate)
    ends = (value.low * factor, value.high * factor) if has_interval(value) else (None, None)
    launches = count(value.n_launches, "launches")
    return Reading(
        name=name,
        text=shown.text,
        interval=shown.interval,
        value=value.value * factor,
        low=ends[0],
        high=ends[1],
        level=percent(value.confidence, 4),
        launches=launches,
        more=more,
    )


def plain(name: str, text: str, value: float, *, more: str = "") -> Reading:
    """The reading of a number without an interval of its own."""
    return Reading(name=name, text=text, value=value, more=more)


def point(
    name: str, x: float, value: Estimate, scale: Scale, *, role: Role = "blue", shape: Shape = "circle", series: str = "", target: str = ""
) -> Point:
    """A value over x with its interval."""
    ends = (value.low * scale.factor, value.high * scale.factor) if has_interval(value) else (None, None)
    return Point(
        x=x,
        y=value.value * scale.factor,
        low=ends[0],
        high=ends[1],
        role=role,
        shape=shape,
        hollow=not has_interval(value),
        reading=reading(name, show(value, scale)),
        series=series,
        target=target,
    )


def level_point(name: str, row: float, value: Estimate, scale: Scale, *, role: Role = "blue", target: str = "") -> Point:
    """A value in a row with its interval across."""
    ends = (value.low * scale.factor, value.high * scale.factor) if has_interval(value) else (None, None)
    return Point(
        x=value.value * scale.factor,
        y=row,
        left=ends[0],
        right=ends[1],
        role=role,
        hollow=not has_interval(value),
        reading=reading(name, show(value, scale)),
        target=target,
    )


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
        tip = "\n".join((f"{view.label(key)}, block {block}: {written_tick(v * factor)}", *told))
        if math.isfinite(v):
            dots.append(_dot(v * factor, tip, hollow=any(row.disturbed for row in rows)))
    return dots


def _dot(y: float, tip: str, *, hollow: bool = False) -> Dot:
    return Dot(x=0.0, y=y, series="block", hollow=hollow, tip=tip)


def stacked(row: int, parts: Iterable[tuple[Role, Look, str, str, float]], least: float = 0.0, series: bool = True) -> list[Bar]:
    """Parts end to end from (role, look, name, text, length), without those up to `least`; each can be switched off."""
    bars, at = [], 0.0
    for role, pattern, name, text, length in parts:
        if length > least:
            told = Reading(name=name, text=text, value=length)
            bars.append(Bar(row=row, left=at, right=at + length, role=role, look=pattern, series=name if series else "", reading=told))
        at += length
    return bars


def interval_key(values: Iterable[Estimate], view: View, what: str, role: Role = "blue", series: str = "") -> list[Key]:
    """The key of points: the confidence if there are intervals, the hollow mark for values without."""
    listed, keys = list(values), []
    if any(has_width(value) for value in listed):
        keys.append(Key(mark="point", role=role, text=f"{what} and {view.confidence} interval", series=series))
    elif any(has_interval(value) for value in listed):
        keys.append(Key(mark="diamond", role=role, text=f"{what}, exact", series=series))
    if any(not has_interval(value) for value in listed):
        keys.append(Key(mark="hollow", role=role, text=f"{what}, one launch: no interval", series=series))
    return keys


def dot_key(dots: Sequence[Dot], what: str) -> list[Key]:
    """The key of raw dots, if any, and of the hollow ones."""
    keys = [Key(mark="dot", role="soft", text=what, series="block")] if dots else []
    return [*keys, *disturbed_key(dots)]


def disturbed_key(marks: Iterable[Mark]) -> list[Key]:
    """The key of hollow marks, if any."""
    hollow = any(isinstance(mark, (Dot, Point)) and mark.hollow for mark in marks)
    return [Key(mark="ring", role="soft", text="hollow: disturbed launch")] if hollow else []


def of_marks(series: Mapping[str, Key], panels: Iterable[Panel]) -> tuple[Key, ...]:
    """Those entries of a key whose series is drawn."""
    drawn = {getattr(mark, "series", "") for panel in panels for mark in panel.marks}
    return tuple(key for name, key in series.items() if name in drawn)
