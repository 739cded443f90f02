r"""How is a chart drawn in a LaTeX paper?

By pgfplots, in the width of a column: lines, points with their intervals, rules, tinted areas, bands and labels. A panel of named rows (bars,
lanes) is left out: the tables hold its numbers. Every text is escaped; every number is written by Python, so that nothing of a name reaches TeX
unescaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Final

from fireassay.reports.charts.model import Area, Axis, Band, Chart, Drawn, Label, Line, Panel, Point, Role, Rule
from fireassay.reports.writers.support.latex_table import breakable, tex

COLOURS: Final[Mapping[Role, str]] = {
    "ink": "black",
    "soft": "black!50",
    "grid": "black!20",
    "grey": "black!45",
    "paper": "white",
    "blue": "blue!65!black",
    "sky": "cyan!60!blue",
    "orange": "orange!80!black",
    "teal": "teal",
    "plum": "violet",
    "gold": "yellow!60!black",
    "pass": "green!45!black",
    "open": "orange!70!black",
    "fail": "red!70!black",
}
MARKS: Final = {"circle": "*", "square": "square*", "triangle-up": "triangle*", "diamond": "diamond*", "plus": "+", "cross": "x"}
HOLLOW: Final = {"circle": "o", "square": "square", "triangle-up": "triangle", "diamond": "diamond"}
SAID: Final = {"hollow": "Hollow", "point": "Filled", "dash": "Dashed", "cross": "Cross", "line": "Line", "band": "Tinted"}
SIZE: Final = r"width=\columnwidth,height=0.66\columnwidth"
BEGIN: Final = r"\begin{tikzpicture}"
SMALL: Final = r"font=\scriptsize"


def drawable(chart: Chart) -> bool:
    """True if some panel of it can be drawn."""
    return any(map(_is_plane, chart.panels))


def figure(chart: Chart) -> str:
    """A chart as a float with its caption."""
    pictures = [_picture(panel) for panel in chart.panels if _is_plane(panel)]
    caption = " ".join(
        part for part in (f"{chart.title.rstrip('.')}{'' if chart.title.endswith('?') else '.'}", chart.caption, _key(chart)) if part
    )
    return "\n".join(
        (r"\begin{figure}[tb]", r"\centering", "\n\n\\medskip\n\n".join(pictures), rf"\caption{{{breakable(caption)}}}", r"\end{figure}")
    )


def _key(chart: Chart) -> str:
    """The marks of the key that are no plain black ones, in words."""
    shown = [key for key in chart.key if key.mark in SAID and key.role != "ink"]
    return " ".join(f"{SAID[key.mark]}, {'grey' if key.role == 'soft' else key.role}: {key.text}." for key in shown)


def _is_plane(panel: Panel) -> bool:
    drawn = any(isinstance(mark, (Line, Point)) for mark in panel.marks)
    return drawn and not panel.x.names and not panel.y.names


def _picture(panel: Panel) -> str:
    marks = [text for mark in panel.marks if (draw := _DRAW.get(type(mark))) is not None for text in draw(mark, panel)]
    return "\n".join((BEGIN, rf"\begin{{axis}}[{','.join(_options(panel))}]", *marks, r"\end{axis}", r"\end{tikzpicture}"))


def _options(panel: Panel) -> Iterator[str]:
    yield SIZE
    yield "clip mode=individual"
    for name, axis in (("x", panel.x), ("y", panel.y)):
        yield f"{name}min={_number(axis.low)},{name}max={_number(axis.high)}"
        yield from ((f"{name}mode=log",) if axis.log else ())
        yield f"{name}tick={{{','.join(_number(at) for at, _ in axis.ticks)}}}" if axis.ticks else f"{name}tick=\\empty"
        yield (
            f"{name}ticklabels={{{','.join('{' + tex(text) + '}' for _, text in axis.ticks)}}}" if axis.ticks else f"{name}ticklabels={{}}"
        )
        yield f"minor {name} tick num=0"
    yield rf"tick label style={{{SMALL}}},label style={{{SMALL}}},log ticks with fixed point"
    title = panel.title or panel.view
    yield f"xlabel={{{tex(panel.x.title)}}}"
    if panel.x.ticks or panel.y.ticks:
        yield f"ylabel={{{tex(title)}}},ymajorgrids,grid style={{black!12}}"
    else:
        yield "axis lines=none"


def _number(value: float) -> str:
    return f"{value:.8g}"


def _at(x: float, y: float) -> str:
    return f"({_number(x)},{_number(y)})"


def _seen(value: float, axis: Axis) -> float:
    """A value that TeX can hold: at most a tenth of the axis outside of it."""
    room = 0.0 if axis.log else 0.1 * (axis.high - axis.low)
    return min(max(value, axis.low - room), axis.high + room)


def _look(mark: Line | Rule) -> str:
    thin, faint = isinstance(mark, Rule) or mark.thin, isinstance(mark, Line) and mark.faint
    width = "thin" if thin else "thick"
    return ",".join((COLOURS[mark.role], width, *(("dashed",) if mark.dashed else ()), *(("opacity=0.35",) if faint else ())))


def _line(mark: Line, panel: Panel) -> Iterator[str]:
    for known, some in groupby(mark.points, key=lambda at: at[1] is not None):
        listed = [(x, y) for x, y in some if y is not None]
        if known and len(listed) > 1:
            yield f"\\addplot[no marks,{_look(mark)}] coordinates {{{' '.join(_at(_seen(x, panel.x), _seen(y, panel.y)) for x, y in listed)}}};"


def _point(mark: Point, panel: Panel) -> Iterator[str]:
    colour = COLOURS[mark.role]
    for low, high, upright in ((mark.low, mark.high, True), (mark.left, mark.right, False)):
        if low is not None and high is not None and low < high:
            axis = panel.y if upright else panel.x
            ends = [_at(mark.x, _seen(end, axis)) if upright else _at(_seen(end, axis), mark.y) for end in (low, high)]
            yield f"\\addplot[no marks,{colour}] coordinates {{{' '.join(ends)}}};"
    sign = (HOLLOW if mark.hollow else MARKS).get(mark.shape, "*")
    fill = ",fill=white" if mark.hollow else ""
    yield f"\\addplot[only marks,mark={sign},mark options={{{colour}{fill}}}] coordinates {{{_at(mark.x, mark.y)}}};"
    if mark.label:
        yield f"\\node[anchor=south,{SMALL}] at (axis cs:{_number(mark.x)},{_number(mark.y)}) {{{tex(mark.label)}}};"


def _rule(mark: Rule, panel: Panel) -> Iterator[str]:
    if mark.y is not None:
        ends = [(panel.x.low if mark.left is None else mark.left, mark.y), (panel.x.high if mark.right is None else mark.right, mark.y)]
    else:
        assert mark.x is not None
        ends = [(mark.x, panel.y.low), (mark.x, panel.y.high)]
    yield f"\\addplot[no marks,{_look(mark)}] coordinates {{{' '.join(_at(x, y) for x, y in ends)}}};"
    if mark.text:
        (x, y), side = (ends[0], "west") if mark.anchor == "start" else (ends[-1], "east")
        yield f"\\node[anchor=south {side},{SMALL}] at (axis cs:{_number(x)},{_number(y)}) {{{tex(mark.text)}}};"


def _area(mark: Area, panel: Panel) -> Iterator[str]:
    left, right = (panel.x.low if mark.left is None else mark.left), (panel.x.high if mark.right is None else mark.right)
    low, high = (panel.y.low if mark.low is None else mark.low), (panel.y.high if mark.high is None else mark.high)
    corners = f"(axis cs:{_number(left)},{_number(low)}) rectangle (axis cs:{_number(right)},{_number(high)})"
    yield f"\\fill[{COLOURS[mark.role]},opacity={mark.strong:g}] {corners};"
    if mark.text:
        yield f"\\node[anchor=south east,{SMALL}] at (axis cs:{_number(right)},{_number(low)}) {{{tex(mark.text)}}};"


def _band(mark: Band, panel: Panel) -> Iterator[str]:
    there = [(x, _seen(high, panel.y)) for x, _, high in mark.points]
    back = [(x, _seen(low, panel.y)) for x, low, _ in reversed(mark.points)]
    places = " ".join(_at(x, y) for x, y in (*there, *back) if math.isfinite(y))
    yield f"\\addplot[draw=none,fill={COLOURS[mark.role]},opacity=0.12] coordinates {{{places}}} -- cycle;"


def _label(mark: Label, panel: Panel) -> Iterator[str]:
    below = "north" if mark.down > 0 else "south"
    side = {"start": " west", "middle": "", "end": " east"}[mark.anchor]
    yield f"\\node[anchor={below}{side},{SMALL}] at (axis cs:{_number(mark.x)},{_number(mark.y)}) {{{tex(mark.text)}}};"


Draw = Callable[..., Iterator[str]]
_DRAW: Final[Mapping[type[Drawn], Draw]] = {Line: _line, Point: _point, Rule: _rule, Area: _area, Band: _band, Label: _label}
