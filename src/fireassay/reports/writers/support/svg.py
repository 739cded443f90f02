"""How is a chart drawn as SVG that fits every width, follows light and dark, and tells its numbers on hover and focus?

x is in per cent of the width and y in pixels, so that text keeps its size from a phone to a wall; curves lie in a view box of their own
that is stretched across. An interval is never cut without a mark: an end beyond the axis is pointed, one without a bound is an arrow.
Every text is escaped here; nothing but this module's own markup is inserted into a page as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import groupby, pairwise
from typing import Final

from fireassay.printable import printable
from fireassay.reports.charts.model import Area, Axis, Band, Bar, Box, Chart, Dot, Drawn, Label, Line, Panel, Point, Reading, Rule
from fireassay.reports.writers.support import labels
from fireassay.reports.writers.support.rows import in_rows

TOP: Final = 26  # pixels above a plot, for its title
TICKS: Final = 24  # below it, for tick labels
TITLE: Final = 18  # and for the axis's title
CAP: Final = 5
LEFTMOST: Final = 16.0  # per cent; further left a point's label stands at its right
RING: Final = 11  # radius of a ring around a point
MAX_STOPS: Final = 40  # points of a panel that a keyboard stops at; more are read in the table
MAX_SERIES: Final = 8  # that can be switched off
NAME_LINE: Final = 15  # pixels of each further line of a row's name
MAX_RULE: Final = 28  # letters beside a line
BESIDE_TICKS: Final = 36  # pixels that the numbers of an axis take, which stand inside the plot
LETTER: Final = 1.9  # per cent of a narrow chart's width
SHAPES: Final = {
    "circle": '<circle class="d" r="4.5"/>',
    "square": '<path class="d" d="M-4.2-4.2h8.4v8.4h-8.4z"/>',
    "triangle-up": '<path class="d" d="M0-5.6 5.4 4h-10.8z"/>',
    "triangle-down": '<path class="d" d="M0 5.6 5.4-4h-10.8z"/>',
    "diamond": '<path class="d" d="M0-6 6 0 0 6-6 0z"/>',
    "plus": '<path class="d" d="M-1.8-5.4h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6v-3.6h3.6z"/>',
    "cross": '<path class="e" d="M-5-5 5 5M-5 5 5-5"/>',
}


@dataclass(frozen=True, kw_only=True)
class View:
    """Panels shown together, as SVG."""

    name: str
    svg: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A finished chart, or the sentence instead of it."""

    chart: Chart
    caption: str = ""
    views: tuple[View, ...] = ()  # none if the chart is missing
    series: Mapping[str, int] = field(default_factory=dict)  # numbers of those that can be switched off
    readings: tuple[Reading, ...] = ()  # for the table

    @property
    def svg(self) -> str:
        """All panels of all views."""
        return "".join(svg for view in self.views for svg in view.svg)


def picture(chart: Chart, anchors: Collection[str] = ()) -> Picture:
    """A chart as SVG for a page; marks link to those of its `anchors` that they name."""
    if chart.rows:
        chart = in_rows(chart)
    names = list(dict.fromkeys(key.series for key in chart.key if key.series))[:MAX_SERIES]
    series = {series: index for index, series in enumerate(names, start=1)}
    frames = [_Frame(panel, series, anchors) for panel in chart.panels]
    views = tuple(
        View(name=view, svg=tuple(printable(frame.drawn(chart.description)) for frame in some))
        for view, some in groupby(frames, key=lambda frame: frame.panel.view)
    )
    cut = " Pointed ends are cut: the interval goes on, as its number says." if any(frame.cut for frame in frames) else ""
    return Picture(chart=chart, caption=f"{chart.caption}{cut}".strip(), views=views, series=series, readings=chart.readings)


class _Frame:
    """One panel: where its values lie, and its marks as text."""

    def __init__(self, panel: Panel, series: dict[str, int], anchors: Collection[str]) -> None:
        self.panel, self._series, self._anchors = panel, series, anchors
        self.x_axis, self.y_axis = panel.x, panel.y
        self._rows = self.y_axis.names
        labelled = any(isinstance(mark, Rule) and mark.x is not None and mark.text for mark in panel.marks)
        self._top = TOP if panel.title or labelled or not self._rows else 6
        self._names_in_lines = [labels.folded(name) for name in self._rows]
        self._row = self.y_axis.row + NAME_LINE * (max(map(len, self._names_in_lines), default=1) - 1)
        self._plot = len(self._rows) * self._row if self._rows else panel.height
        self._bottom = self._top + self._plot
        self._left, self._right = _insets(panel)
        self.cut = False
        self._labelled: list[labels.Box] = []
        points = sum(isinstance(mark, Point) for mark in panel.marks)
        self._stops = points <= MAX_STOPS

    @cached_property
    def _lines(self) -> list[labels.Segment]:
        """What may cross a label: the lines of the panel, and level intervals."""
        drawn = [mark.points for mark in self.panel.marks if isinstance(mark, Line)]
        across = [mark for mark in self.panel.marks if isinstance(mark, Point)]
        drawn += [((mark.left, mark.y), (mark.right, mark.y)) for mark in across if mark.left is not None and mark.right is not None]
        ends = [((x, y), (to_x, to_y)) for points in drawn for (x, y), (to_x, to_y) in pairwise(points)]
        return [(self.x(x), self.y(y), self.x(to_x), self.y(to_y)) for (x, y), (to_x, to_y) in ends if y is not None and to_y is not None]

    @cached_property
    def _spots(self) -> list[labels.Box]:
        """What may touch a label: the points with their intervals, and the dots."""
        return [self._spot(mark) for mark in self.panel.marks if isinstance(mark, (Point, Dot))]

    def _spot(self, mark: Point | Dot) -> labels.Box:
        x, y = self.x(mark.x), self.y(mark.y)
        if isinstance(mark, Dot):
            return labels.Box(x=x, y=y, left=mark.shift - 4.0, right=mark.shift + 4.0, top=-4.0, bottom=4.0)
        low, high = (mark.y if end is None else end for end in (mark.low, mark.high))
        ringed = any(isinstance(dot, Dot) and dot.large and (dot.x, dot.y) == (mark.x, mark.y) for dot in self.panel.marks)
        half = RING if ringed else 6.0
        return labels.Box(x=x, y=y, left=-half, right=half, top=min(-half, self.y(high) - y), bottom=max(half, self.y(low) - y))

    def drawn(self, words: str) -> str:
        """The panel as SVG."""
        height = (
            self._bottom + (TICKS if self.x_axis.ticks else 4) + (TITLE if self.x_axis.title else 0) + (TITLE if self.x_axis.under else 0)
        )
        parts = [*self._grid(), *self._marks(), *self._names(), *self._titles(height)]
        said = escape(f"{self.panel.title or self.panel.view}: {words}" if self.panel.title or self.panel.view else words, quote=True)
        return f'<svg class="ch" height="{height}" role="group" aria-label="{said}">{"".join(parts)}</svg>'

    # ---- positions ----

    def x(self, value: float) -> float:
        """The position of an x, in per cent."""
        share = min(max(_share(value, self.x_axis), 0.0), 1.0)
        return self._left + (100.0 - self._left - self._right) * share

    def y(self, value: float) -> float:
        """The position of a y, in pixels."""
        if self._rows:
            return self._top + (value + 1) * self._row - 16.0
        return self._bottom - self._plot * min(max(_share(value, self.y_axis), 0.0), 1.0)

    # ---- axes ----

    def _grid(self) -> Iterator[str]:
        for value, text in () if self._rows else self.y_axis.ticks:
            y = self.y(value)
            if self.y_axis.centred:
                yield f'<text x="{self._left - 1:.2f}%" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
            else:
                yield f'<line class="g" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/><text y="{y - 4:.1f}">{escape(text)}</text>'
        if not self._rows and not self.y_axis.centred:
            yield f'<line class="g0" x2="100%" y1="{self._bottom}" y2="{self._bottom}"/>'
        for index, (value, text) in enumerate(self.x_axis.ticks):
            x, odd = self.x(value), " odd" if index % 2 and len(self.x_axis.ticks) > 4 else ""
            if self.x_axis.grid:
                yield self._upright_line(f"g{odd}", x)
            yield f'<text class="t{odd}" x="{x:.2f}%" y="{self._bottom + 17}" text-anchor="{_anchor(x)}">{escape(text)}</text>'

        for value, text, role in self.x_axis.under:
            x = self.x(value)
            yield f'<text class="under tx-{role}" x="{x:.2f}%" y="{self._bottom + 33}" text-anchor="{_anchor(x)}">{escape(text)}</text>'

    def _names(self) -> Iterator[str]:
        for index, lines in enumerate(self._names_in_lines):
            first, *more = map(escape, lines)
            below = "".join(f'<tspan x="0" dy="{NAME_LINE}">{line}</tspan>' for line in more)
            yield f'<text class="row" y="{self.y(index) - 13 - NAME_LINE * len(more):.1f}">{first}{below}</text>'

    def _titles(self, height: int) -> Iterator[str]:
        if self.panel.title:
            yield f'<text class="title" y="9">{escape(self.panel.title)}</text>'
        if self.x_axis.title:
            yield f'<text x="100%" y="{height - 3}" text-anchor="end">{escape(self.x_axis.title)}</text>'

    # ---- marks ----

    def _marks(self) -> Iterator[str]:
        def style_of(mark: Drawn) -> tuple[str, str]:
            return getattr(mark, "series", ""), getattr(mark, "role", "ink")

        for (series, role), some in groupby(self.panel.marks, key=style_of):
            number = self._series.get(series, 0)
            switched = f" g{number}" if number else ""
            yield f'<g class="c-{role}{switched}">{"".join(self._mark(mark) for mark in some)}</g>'

    def _mark(self, mark: Drawn) -> str:
        """The mark as its method draws it: `_point`, `_dot`, `_line` and so on."""
        drawn: str = getattr(self, f"_{type(mark).__name__.lower()}")(mark)
        return drawn

    def _point(self, mark: Point) -> str:
        x, y = self.x(mark.x), self.y(mark.y)
        parts = [self._upright(mark, x), self._level(mark, y)]
        exact = mark.low == mark.high and mark.left == mark.right and not mark.hollow and mark.shape == "circle"
        shape = SHAPES["diamond" if exact else mark.shape].replace('class="d"', 'class="d hollow"' if mark.hollow else 'class="d"')
        hit = '<rect class="hit" x="-13" y="-13" width="26" height="26"/>'
        here = f'<svg x="{x:.2f}%" y="{y:.1f}" overflow="visible">{"".join(parts[:1])}{shape}{hit}{_title(tip(mark.reading))}</svg>'
        body = f"{parts[1]}{here}{self._value(mark, x, y)}"
        if mark.target in self._anchors:
            return f'<a class="pt" href="#{escape(mark.target)}" data-k="{escape(mark.target)}">{body}</a>'
        if mark.reading is not None and self._stops:
            said = escape(tip(mark.reading).replace("\n", ", "), quote=True)
            return f'<g class="pt" tabindex="0" role="img" aria-label="{said}">{body}</g>'
        return f'<g class="pt">{body}</g>'

    def _value(self, mark: Point, x: float, y: float) -> str:
        if not mark.label:
            return ""
        room = labels.placed(
            mark.label, self._spot(mark), self._lines, [*self._spots, *self._labelled], right_first=x < LEFTMOST, height=self._bottom
        )
        self._labelled.append(room.box)
        text = f'<text class="v" x="{room.across:g}" y="{room.down:.3g}" text-anchor="{room.anchor}">{escape(mark.label)}</text>'
        return f'<svg x="{x:.2f}%" y="{y:.1f}" overflow="visible">{text}</svg>'

    def _upright(self, mark: Point, x: float) -> str:
        """The vertical interval, relative to the point."""
        if mark.low is None or mark.high is None or mark.low == mark.high:
            return ""
        here = self.y(mark.y)
        (down, low), (up, high) = self._end(mark.low, self.y_axis), self._end(mark.high, self.y_axis)
        bottom, top = self.y(down) - here, self.y(up) - here
        path = f"M0 {top:.1f}V{bottom:.1f}{_end_up(top, high, -1)}{_end_up(bottom, low, 1)}"
        return f'<path class="halo" d="M0 {top:.1f}V{bottom:.1f}"/><path class="e" d="{path}"/>'

    def _level(self, mark: Point, y: float) -> str:
        """The horizontal interval."""
        if mark.left is None or mark.right is None or mark.left == mark.right:
            return ""
        (first, low), (last, high) = self._end(mark.left, self.x_axis), self._end(mark.right, self.x_axis)
        a, b = self.x(first), self.x(last)
        line = f'x1="{a:.2f}%" x2="{b:.2f}%" y1="{y:.1f}" y2="{y:.1f}"'
        ends = ((a, low, -1), (b, high, 1))
        caps = "".join(
            f'<svg x="{x:.2f}%" y="{y:.1f}" overflow="visible"><path class="e" d="{_end_across(e, s)}"/></svg>' for x, e, s in ends
        )
        return f'<line class="halo" {line}/><line class="e" {line}/>{caps}'

    def _end(self, value: float, axis: Axis) -> tuple[float, str]:
        """Where an interval's end is drawn, and how: a cap, a pointed end beyond the axis, an arrow without a bound."""
        if math.isinf(value):
            return (axis.high if value > 0 else axis.low), "open"
        inside = min(max(value, axis.low), axis.high)
        beyond = abs(inside - value) > 1e-9 * max(abs(axis.high - axis.low), 1e-300)
        self.cut |= beyond
        return inside, "cut" if beyond else "cap"

    def _dot(self, mark: Dot) -> str:
        where, ring, radius = f'cx="{mark.shift:g}" cy="{mark.drop:g}"', " ring" * mark.hollow, RING if mark.large else 3.4
        hit = f'<circle class="hit" {where} r="8"/>{_title(mark.tip)}' if mark.tip else ""
        here = f'x="{self.x(mark.x):.2f}%" y="{self.y(mark.y):.1f}"'
        return f'<svg {here} overflow="visible"><circle class="raw{ring}" {where} r="{radius}"/>{hit}</svg>'

    def _stretched(self, inner: str) -> str:
        height = self._bottom
        return f'<svg viewBox="0 0 1000 {height}" width="100%" height="{height}" preserveAspectRatio="none">{inner}</svg>'

    def _at(self, x: float, y: float) -> str:
        return f"{10 * self.x(x):.1f},{self.y(y):.1f}"

    def _line(self, mark: Line) -> str:
        look = "ln" + " thin" * mark.thin + " dashed" * mark.dashed + " faint" * mark.faint
        pieces = []
        for known, some in groupby(mark.points, key=lambda at: at[1] is not None):
            if known:
                listed = [(x, y) for x, y in some if y is not None]
                listed = _steps(listed) if mark.step else listed
                path = " ".join(self._at(x, y) for x, y in self._inside(listed))
                pieces.append(f'<polyline class="{look}" points="{path}"/>')
        return self._stretched("".join(pieces))

    def _inside(self, listed: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
        """The part of a line up to where it leaves the plot; `y` holds what lies beyond at the edge."""
        top = self.y_axis.high
        across, back = (math.log, math.exp) if self.x_axis.log else (float, float)
        upwards = math.log if self.y_axis.log else float
        before: tuple[float, float] | None = None
        for x, y in listed:
            if before is not None and (before[1] > top) != (y > top):
                share = (upwards(top) - upwards(before[1])) / (upwards(y) - upwards(before[1]))
                yield back(across(before[0]) + (across(x) - across(before[0])) * share), top
            if y <= top:
                yield x, y
            before = (x, y)

    def _band(self, mark: Band) -> str:
        there = " ".join(self._at(x, high) for x, _, high in mark.points)
        back = " ".join(self._at(x, low) for x, low, _ in reversed(mark.points))
        return self._stretched(f'<polygon class="tint band" points="{there} {back}"/>')

    def _sides(self, mark: Area | Rule) -> tuple[float, float]:
        return (0.0 if mark.left is None else self.x(mark.left)), (100.0 if mark.right is None else self.x(mark.right))

    def _area(self, mark: Area) -> str:
        left, right = self._sides(mark)
        top = self._top if mark.high is None else self.y(mark.high)
        bottom = self._bottom if mark.low is None else self.y(mark.low)
        box = f'x="{left:.2f}%" width="{max(right - left, 0):.2f}%" y="{top:.1f}" height="{max(bottom - top, 0):.1f}"'
        text = (
            f'<text class="in" x="{right:.2f}%" dx="-4" y="{bottom - 6:.1f}" text-anchor="end">{escape(mark.text)}</text>'
            if mark.text
            else ""
        )
        return f'<rect class="tint" style="opacity:{mark.strong:g}" {box}/>{text}'

    def _bar(self, mark: Bar) -> str:
        left, right, y = self.x(mark.left), self.x(mark.right), self.y(mark.row) + mark.drop
        text = f'<text class="v" x="{right:.2f}%" dx="6" y="{y + 5:.1f}">{escape(mark.label)}</text>' if mark.label else ""
        size = f'x="{left:.3f}%" width="{max(right - left, 0.05):.3f}%" y="{y - mark.height / 2:.1f}" height="{mark.height}"'
        return f'<rect class="f bk {mark.look}" {size}>{_title(tip(mark.reading))}</rect>{text}'

    def _box(self, mark: Box) -> str:
        left, right, top, bottom = self.x(mark.left), self.x(mark.right), self.y(mark.high), self.y(mark.low)
        shade = f' style="opacity:{mark.shade:g}"' if mark.shade < 1 else ""
        strong = " on" if mark.shade > 0.55 else ""
        middle = f'x="{(left + right) / 2:.2f}%" y="{(top + bottom) / 2 + 4:.1f}" text-anchor="middle"'
        text = f'<text class="cell{strong}" {middle}>{escape(mark.text)}</text>' if mark.text else ""
        size = f'width="{max(right - left, 0):.2f}%" y="{top:.1f}" height="{max(bottom - top, 0):.1f}"'
        return f'<rect class="f bk"{shade} x="{left:.2f}%" {size}>{_title(mark.tip)}</rect>{text}'

    def _rule(self, mark: Rule) -> str:
        look, text = "e" + " dashed" * mark.dashed, escape(_shortened(mark.text, MAX_RULE))
        if mark.x is not None:
            x = self.x(mark.x)
            across, anchor = (-5, "end") if x > 50 else (5, "start")  # half of a phone's width has room for any text
            words = f'<text x="{x:.2f}%" dx="{across}" y="{11 if self._rows else self._top + 10}" text-anchor="{anchor}">{text}</text>'
            return f"{self._upright_line(look, x)}{words if text else ''}"
        assert mark.y is not None
        y = self.y(mark.y)
        left, right = self._sides(mark)
        at, across = (left, BESIDE_TICKS) if mark.anchor == "start" else (right, 0)
        words = f'<text x="{at:.2f}%" dx="{across}" y="{y - 5:.1f}" text-anchor="{mark.anchor}">{text}</text>' if text else ""
        return f'<line class="{look}" x1="{left:.2f}%" x2="{right:.2f}%" y1="{y:.1f}" y2="{y:.1f}"/>{words}'

    def _upright_line(self, look: str, x: float) -> str:
        """A line from top to bottom, which leaves out the names of rows that it would cross."""
        named = [(self.y(row), len(lines)) for row, lines in enumerate(self._names_in_lines) if labels.spared(max(lines, key=len), x)]
        above = (y - 11.0 - NAME_LINE * lines for y, lines in named)
        ends = zip([float(self._top), *(y - 9.0 for y, _ in named)], [*above, float(self._bottom)], strict=True)
        return "".join(f'<line class="{look}" x1="{x:.2f}%" x2="{x:.2f}%" y1="{a:.1f}" y2="{b:.1f}"/>' for a, b in ends if a < b)

    def _label(self, mark: Label) -> str:
        where = f'x="{self.x(mark.x):.2f}%" dx="{mark.across:g}" y="{self.y(mark.y) + mark.down:.1f}"'
        strong = ' class="v"' if mark.strong else ""
        return f'<text{strong} {where} text-anchor="{mark.anchor}">{escape(mark.text)}</text>'


def tip(reading: Reading | None) -> str:
    """What hover and focus say: name, value, interval, launches, and more."""
    if reading is None:
        return ""
    interval = f"{reading.level} interval {reading.interval}" if reading.interval.startswith("[") else reading.interval
    return "\n".join(line for line in (reading.name, reading.text, interval, reading.launches, reading.more) if line)


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _shortened(text: str, most: int) -> str:
    """Text that fits a narrow chart; it cannot be wrapped there."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _share(value: float, axis: Axis) -> float:
    if axis.log:
        return math.log(max(value, axis.low) / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / ((axis.high - axis.low) or 1.0)


def _insets(panel: Panel) -> tuple[float, float]:
    """Per cent left free on both sides: for the labels of the vertical axis, and for half a label at the right."""
    if panel.y.names:
        return 0.0, 2.0 if panel.x.ticks else 0.0
    widest = max((len(text) for _, text in panel.y.ticks), default=0)
    return min(4.0 + LETTER * widest, 24.0), 3.0 if not panel.y.centred else 1.0


def _anchor(x: float) -> str:
    return "start" if x < 3 else "end" if x > 96 else "middle"


def _steps(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of a line that keeps its height until the next point."""
    result: list[tuple[float, float]] = []
    for x, y in points:
        if result:
            result.append((x, result[-1][1]))
        result.append((x, y))
    return result


def _end_up(y: float, end: str, way: int) -> str:
    """The end of a vertical interval; `way`: 1 for downwards."""
    if end == "cap":
        return f"M{-CAP} {y:.1f}h{2 * CAP}"
    if end == "cut":
        return f"M{-CAP} {y - way * 8:.1f}L0 {y:.1f} {CAP} {y - way * 8:.1f}z"
    return f"M{-CAP} {y - way * 6:.1f}L0 {y:.1f} {CAP} {y - way * 6:.1f}"


def _end_across(end: str, way: int) -> str:
    """The end of a horizontal interval; `way`: 1 for the right one."""
    if end == "cap":
        return f"M0 {-CAP}v{2 * CAP}"
    if end == "cut":
        return f"M{-way * 8} {-CAP}L0 0 {-way * 8} {CAP}z"
    return f"M{-way * 6} {-CAP}L0 0 {-way * 6} {CAP}"
