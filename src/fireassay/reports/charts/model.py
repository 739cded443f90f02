"""What is a chart?  Panels of marks in the units of their axes, a key, a caption and a description; or the reason why there is none.

Data only. A format draws the marks that it can: a page all but courses, a screen of text intervals with their edges, a workbook courses.
A chart of other marks is left out there, since the tables hold its numbers. Hover, focus and the table behind a chart come from the
readings of its marks; a workbook keeps the numbers of courses in cells, to which its charts refer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Final, Literal, TypeVar, get_args

from fireassay.estimates.estimate import Value
from fireassay.reports.cell import Mark, Number

Role = Literal["ink", "soft", "grid", "paper", "blue", "sky", "orange", "teal", "plum", "gold", "grey", "pass", "open", "fail"]
Look = Literal["", "wait", "rest"]  # a pattern beside the colour: waiting is striped, the unexplained hatched
Shape = Literal["circle", "square", "triangle-up", "diamond", "triangle-down", "plus", "cross"]
Anchor = Literal["start", "middle", "end"]

ROW: Final = 44  # pixels for a name and its marks
BAR: Final = 16
MAX_READINGS: Final = 400  # in a chart's table


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
class Seen:
    """What marks have in common: a colour, and the series with which they can be switched off."""

    role: Role = "blue"
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Point(Seen):
    """A value, with its interval upwards or across; `low` equal to `high` is exact, none at all is a hollow mark."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    left: float | None = None
    right: float | None = None
    shape: Shape = "circle"
    hollow: bool = False
    reading: Reading | None = None
    label: str = ""
    target: str = ""  # anchor of the row with its details


@dataclass(frozen=True, kw_only=True)
class Dot(Seen):
    """One raw value: a block, a launch; hollow if it was disturbed."""

    x: float
    y: float
    role: Role = "soft"
    hollow: bool = False
    shift: float = 0.0  # pixels to the right
    drop: float = 0.0  # pixels down
    large: bool = False  # a ring around another mark
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Line(Seen):
    """A line through points, broken where y is None: along a fitted model, a time series or a sweep."""

    points: tuple[tuple[float, float | None], ...]
    dashed: bool = False
    thin: bool = False
    step: bool = False
    faint: bool = False


@dataclass(frozen=True, kw_only=True)
class Band(Seen):
    """The area between two lines: (x, low, high)."""

    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Area(Seen):
    """A tinted part of the plot; a side without a number reaches its edge."""

    left: float | None = None
    right: float | None = None
    low: float | None = None
    high: float | None = None
    role: Role = "soft"
    text: str = ""
    strong: float = 0.12  # opacity


@dataclass(frozen=True, kw_only=True)
class Bar(Seen):
    """A horizontal part of a row, from `left` to `right`."""

    row: int
    left: float
    right: float
    look: Look = ""
    height: int = BAR
    drop: int = 0  # pixels below the row's middle
    reading: Reading | None = None
    label: str = ""  # behind its end


@dataclass(frozen=True, kw_only=True)
class Box(Seen):
    """A filled rectangle with an outline: a bin of a histogram, a cell of a map."""

    left: float
    right: float
    low: float
    high: float
    shade: float = 1.0  # opacity
    text: str = ""
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule(Seen):
    """A line across the whole plot, at an x or a y."""

    x: float | None = None
    y: float | None = None
    left: float | None = None  # of a level line, if it does not cross the whole plot
    right: float | None = None
    role: Role = "soft"
    dashed: bool = False
    text: str = ""
    anchor: Anchor = "end"  # which end of a level line has the text


@dataclass(frozen=True, kw_only=True)
class Label(Seen):
    """A text beside a position."""

    x: float
    y: float
    text: str
    role: Role = "ink"
    across: float = 0.0
    down: float = 0.0
    anchor: Anchor = "start"
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A row: its name and its number, drawn with characters or as a picture."""

    name: str
    number: Number
    mark: Mark | None = None
    target: str = ""  # anchor of the row or section with its details


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A line that an interval may cross: a gate, a margin, no change; in the unit of the numbers."""

    value: float
    text: str = ""  # "gate", "margin"


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A row of a course: its name, where it lies, and its value; a value that was not measured leaves its cell empty."""

    name: str
    x: float | None
    y: Value | float | None
    across: Value | None = None  # its x as a value with an interval


@dataclass(frozen=True, kw_only=True)
class Course:
    """A series of a workbook: the cells of one column, drawn over those of x; courses of the same spots share their rows.

    `joined`, `dotted`: marks on a line; `dashes`: a line without intervals. `colour` is the index of its subject, or one of those below.
    """

    name: str
    quantity: str  # head of its column, with the unit
    spots: tuple[Spot, ...]
    at: str = ""  # head of the column of x; empty: the names are the axis
    look: Literal["marks", "joined", "dotted", "dashes", "stacked", "bar"] = "joined"
    colour: int = 0
    factor: float = 1.0  # takes a value to the unit in the head
    factor_across: float = 1.0


REFERENCE, WHOLE, REST = -1, -2, -3  # colours of no subject: an ideal or a gate, the whole of parts, what is not attributed
Drawn = Point | Dot | Line | Band | Area | Bar | Box | Rule | Label | Interval | Edge | Course
MARKS: Final = get_args(Drawn)


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
    base: int = 0  # these two in a workbook, which finds the limits itself: the base of a logarithmic axis, and the step between labels
    step: float | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot; panels of a view are shown together, and a reader chooses the view."""

    x: Axis
    y: Axis
    marks: tuple[Drawn, ...]
    height: int = 230
    title: str = ""
    view: str = ""


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
class Chart:
    """A chart. `description` says its result in words, for screen readers."""

    name: str = ""
    title: str
    missing: str = ""  # why there is none
    panels: tuple[Panel, ...] = ()
    caption: str = ""
    description: str = ""
    key: tuple[Key, ...] = ()
    quantity: str = "value"  # head of the values in the chart's table
    across: int = 1  # panels side by side
    stub: str = ""  # head of the names of intervals and spots
    in_tables: bool = False  # a table of the page holds its numbers: formats that draw nothing do not repeat them

    @property
    def rows(self) -> tuple[Interval, ...]:
        """Its rows, if it is one of intervals."""
        return self.marks(Interval)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The lines that they may cross."""
        return self.marks(Edge)

    @property
    def courses(self) -> tuple[Course, ...]:
        """Its series, if it is one of a workbook."""
        return self.marks(Course)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What its marks stand for, each once, for a table behind it; none of a chart with too many to be read."""
        marks = (mark for panel in self.panels for mark in panel.marks)
        told = tuple(dict.fromkeys(mark.reading for mark in marks if isinstance(mark, (Point, Bar)) and mark.reading is not None))
        return told if len(told) <= MAX_READINGS else ()

    def marks(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The marks of a kind in all panels."""
        return tuple(mark for panel in self.panels for mark in panel.marks if isinstance(mark, kind))


Kind = TypeVar("Kind")
Subject = TypeVar("Subject")
Charts = tuple[Chart, ...]


def named(name: str) -> Callable[[Callable[[Subject], Chart | Iterable[Chart]]], Callable[[Subject], Charts]]:
    """Give the charts that a function makes this name; the second and later ones are numbered."""

    def decorated(draw: Callable[[Subject], Chart | Iterable[Chart]]) -> Callable[[Subject], Charts]:
        @wraps(draw)
        def drawn(subject: Subject) -> Charts:
            made = draw(subject)
            every = enumerate((made,) if isinstance(made, Chart) else made)
            return tuple(replace(chart, name=f"{name}-{index + 1}" if index else name) for index, chart in every)

        return drawn

    return decorated


def intervals(*, name: str, title: str, rows: tuple[Interval, ...], stub: str = "", edges: tuple[Edge, ...] = ()) -> Chart:
    """A chart of intervals on one scale; `title` is the quantity with its unit, such as "efficiency, %"."""
    if not rows:
        return Chart(name=name, title=title, missing="No row has a number.")
    return Chart(name=name, title=title, stub=stub, quantity=title, panels=(Panel(x=Axis(), y=Axis(), marks=(*edges, *rows)),))
