"""Which marks can a chart hold?  Points with intervals, lines, bands, bars and rules, in the units of their axes.

Data only: `svg` draws them, and takes hover, focus and the chart's table from the readings that they carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Role = Literal["ink", "soft", "grid", "paper", "blue", "sky", "orange", "teal", "plum", "gold", "grey", "pass", "open", "fail"]
Look = Literal["", "wait", "rest"]  # a pattern beside the colour: waiting is striped, the unexplained hatched
Shape = Literal["circle", "square", "triangle-up", "diamond", "triangle-down", "plus", "cross"]
Anchor = Literal["start", "middle", "end"]

ROW: Final = 44  # pixels for a name and its marks
BAR: Final = 16


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a mark stands for, said on hover and focus and in the chart's table."""

    name: str
    text: str
    interval: str = ""  # "[1.2, 1.4]", "exact", "no interval: one launch"
    value: float | None = None  # these three in the unit of the axis
    low: float | None = None
    high: float | None = None
    level: str = ""  # of confidence: "95 %"
    launches: str = ""
    more: str = ""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value, with its interval upwards or across; `low` equal to `high` is exact, none at all is a hollow mark."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    left: float | None = None
    right: float | None = None
    role: Role = "blue"
    shape: Shape = "circle"
    hollow: bool = False
    series: str = ""
    reading: Reading | None = None
    label: str = ""
    target: str = ""  # anchor of the row with its details


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One raw value: a block, a launch; hollow if it was disturbed."""

    x: float
    y: float
    role: Role = "soft"
    hollow: bool = False
    shift: float = 0.0  # pixels to the right
    drop: float = 0.0  # pixels down
    series: str = ""
    large: bool = False  # a ring around another mark
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line through points, broken where y is None: along a fitted model, a time series or a sweep."""

    points: tuple[tuple[float, float | None], ...]
    role: Role = "blue"
    dashed: bool = False
    thin: bool = False
    step: bool = False
    faint: bool = False
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Band:
    """The area between two lines: (x, low, high)."""

    points: tuple[tuple[float, float, float], ...]
    role: Role = "blue"
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Area:
    """A tinted part of the plot; a side without a number reaches its edge."""

    left: float | None = None
    right: float | None = None
    low: float | None = None
    high: float | None = None
    role: Role = "soft"
    text: str = ""
    strong: float = 0.12  # opacity
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A horizontal part of a row, from `left` to `right`."""

    row: int
    left: float
    right: float
    role: Role = "blue"
    look: Look = ""
    height: int = BAR
    drop: int = 0  # pixels below the row's middle
    series: str = ""
    reading: Reading | None = None
    label: str = ""  # behind its end


@dataclass(frozen=True, kw_only=True)
class Box:
    """A filled rectangle with an outline: a bin of a histogram, a cell of a map."""

    left: float
    right: float
    low: float
    high: float
    role: Role = "blue"
    shade: float = 1.0  # opacity
    text: str = ""
    series: str = ""
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A line across the whole plot, at an x or a y."""

    x: float | None = None
    y: float | None = None
    left: float | None = None  # of a level line, if it does not cross the whole plot
    right: float | None = None
    role: Role = "soft"
    dashed: bool = False
    text: str = ""
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Label:
    """A text beside a position."""

    x: float
    y: float
    text: str
    across: float = 0.0
    down: float = 0.0
    anchor: Anchor = "start"
    strong: bool = False


Mark = Point | Dot | Line | Band | Area | Bar | Box | Rule | Label


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Limits, ticks and title of one direction; an axis with `names` has a row for each instead."""

    low: float = 0.0
    high: float = 1.0
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    title: str = ""
    grid: bool = True
    names: tuple[str, ...] = ()
    row: int = ROW
    under: tuple[tuple[float, str, Role], ...] = ()  # a second line of tick labels
    centred: bool = False  # tick labels stand beside their position instead of on a grid line


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot; panels of a view are shown together, and a reader chooses the view."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: int = 230
    title: str = ""
    view: str = ""
