"""How does a value with its interval become a mark, and what says the key of it?

Blue is computing or the first series, orange communication or the second, on every page. Series differ by shape as well as by colour,
parts by pattern or a gap, so that no meaning is carried by colour alone; none has the colour of a status.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, Shown, count, percent, show
from fireassay.reports.charts.model import Bar, Dot, Drawn, Key, Line, Look, Panel, Point, Reading, Role, Shape

CATEGORIES: Final[tuple[Role, ...]] = ("blue", "orange", "teal", "plum", "gold", "sky")
SHAPES: Final[tuple[Shape, ...]] = ("circle", "square", "triangle-up", "diamond", "triangle-down", "plus")
PLAIN: Final = Scale(factor=1.0)


def look(index: int) -> tuple[Shape, Role]:
    """Shape and colour role of the nth series: the first six differ in both, later ones in the combination."""
    return SHAPES[index % len(SHAPES)], CATEGORIES[(index + index // len(SHAPES)) % len(CATEGORIES)]


# ---- numbers ---------------------------------------------------------------------------------------------------------


def bounded(value: Estimate) -> bool:
    """True if the interval is bounded on both sides."""
    return math.isfinite(value.low) and math.isfinite(value.high)


def has_interval(value: Estimate) -> bool:
    """True if the interval is bounded on some side; with a single launch it is not."""
    return bounded(value) or (value.n_launches > 1 and (math.isfinite(value.low) or math.isfinite(value.high)))


def has_width(value: Estimate) -> bool:
    """True if there is an interval to draw: an exact value has none."""
    return has_interval(value) and value.high > value.low


def ends(value: Estimate, factor: float = 1.0) -> tuple[float, float] | tuple[None, None]:
    """The interval in the unit of an axis, if there is one."""
    return (value.low * factor, value.high * factor) if has_interval(value) else (None, None)


def reading(name: str, shown: Shown, *, more: str = "") -> Reading:
    """The reading of an estimate, in its scale."""
    value, factor = shown.value, shown.scale.factor
    assert isinstance(value, Estimate)
    low, high = ends(value, factor)
    launches, level = count(value.n_launches, "launches"), percent(value.confidence, 4)
    numbers = {"value": value.value * factor, "low": low, "high": high}
    return Reading(name=name, text=shown.text, interval=shown.interval, level=level, launches=launches, more=more, **numbers)


def plain(name: str, text: str, value: float, *, more: str = "") -> Reading:
    """The reading of a number without an interval of its own."""
    return Reading(name=name, text=text, value=value, more=more)


# ---- marks -----------------------------------------------------------------------------------------------------------


def point(name: str, x: float, value: Estimate, scale: Scale, *, more: str = "", across: Estimate | None = None, **look: Any) -> Point:
    """A value over x with its interval; `across` is its x, in the unit of the axis, if that has an interval as well."""
    (low, high), (left, right) = ends(value, scale.factor), ends(across) if across is not None else (None, None)
    told = reading(name, show(value, scale), more=more)
    look = {"hollow": not has_interval(value)} | look
    return Point(x=x, y=value.value * scale.factor, low=low, high=high, left=left, right=right, reading=told, **look)


def scaled(value: Estimate, factor: float) -> Estimate:
    """A value in the unit of an axis."""
    return replace(value, value=value.value * factor, low=value.low * factor, high=value.high * factor)


def level_point(name: str, row: float, value: Estimate, scale: Scale, **look: Any) -> Point:
    """A value in a row with its interval across."""
    upright = point(name, 0.0, value, scale, **look)
    return replace(upright, x=upright.y, y=row, left=upright.low, right=upright.high, low=None, high=None)


def path(points: Sequence[Point], **look: Any) -> list[Drawn]:
    """A thin line through points, below them."""
    line = [Line(points=tuple((at.x, at.y) for at in points), thin=True, **look)] if len(points) > 1 else []
    return [*line, *points]


class Swatch(NamedTuple):
    """A part of a bar: its name, its colour and its pattern."""

    text: str
    role: Role
    look: Look = ""


def stacked(row: int, parts: Iterable[tuple[Swatch, str, str, float]], least: float = 0.0) -> list[Bar]:
    """Parts end to end from (swatch, name, text, length), without those up to `least`."""
    bars, at = [], 0.0
    for swatch, name, text, length in parts:
        if length > least:
            told = Reading(name=name, text=text, value=length)
            bars.append(Bar(row=row, left=at, right=at + length, role=swatch.role, look=swatch.look, reading=told))
        at += length
    return bars


# ---- keys ------------------------------------------------------------------------------------------------------------


def bar_key(swatches: Iterable[Swatch]) -> tuple[Key, ...]:
    """An entry for each part of bars."""
    return tuple(Key(mark="bar", role=swatch.role, look=swatch.look, text=swatch.text) for swatch in swatches)


def dot_key(dots: Sequence[Dot], what: str) -> list[Key]:
    """The key of raw dots, if any, and of the hollow ones."""
    keys = [Key(mark="dot", role="soft", text=what, series="block")] if dots else []
    return [*keys, *disturbed_key(dots)]


def disturbed_key(marks: Iterable[Drawn]) -> list[Key]:
    """The key of hollow marks, if any."""
    hollow = any(isinstance(mark, (Dot, Point)) and mark.hollow for mark in marks)
    return [Key(mark="ring", role="soft", text="hollow: disturbed launch")] if hollow else []


def of_marks(series: Mapping[str, Key], panels: Iterable[Panel]) -> tuple[Key, ...]:
    """Those entries of a key whose series is drawn."""
    drawn = {getattr(mark, "series", "") for panel in panels for mark in panel.marks}
    return tuple(key for name, key in series.items() if name in drawn)
