r"""A chart in a LaTeX paper: numbers by Python, every text escaped, nothing outside of TeX's range."""

from __future__ import annotations

import math
import re

from fireassay.reports.charts.model import Area, Axis, Band, Bar, Chart, Key, Label, Line, Panel, Point, Rule
from fireassay.reports.writers.support import pgfplots

AXIS = Axis(low=0.0, high=10.0, ticks=((0.0, "0"), (10.0, "10")), title=r"\input{x}")
MARKS = (
    Line(points=((0.0, 1.0), (5.0, 2.0), (6.0, None), (7.0, 3.0), (10.0, 1e300)), dashed=True),
    Point(x=5.0, y=2.0, low=-math.inf, high=3.0, label=r"50 % of $x_1$", hollow=True),
    Rule(y=4.0, text="gate & limit"),
    Rule(x=4.0),
    Area(high=4.0, text="below"),
    Band(points=((0.0, 1.0, 2.0), (10.0, 1.0, math.inf))),
    Label(x=1.0, y=1.0, text="corner", down=5.0, anchor="end"),
)


def chart(**changed: object) -> Chart:
    panel = Panel(x=AXIS, y=AXIS, marks=MARKS, title="times as fast")
    return Chart(**{"title": "Do more pay?", "panels": (panel,), "key": (Key(mark="dash", role="soft", text="ideal"),), **changed})  # type: ignore[arg-type]


def test_marks_are_drawn_within_what_tex_can_hold() -> None:
    text = pgfplots.figure(chart())
    assert r"\addplot[only marks,mark=o,mark options={blue!65!black,fill=white}] coordinates {(5,2)};" in text
    assert "coordinates {(0,1) (5,2)};" in text  # broken where nothing was measured
    assert "coordinates {(7,3) (10,11)};" in text  # a tenth above the axis
    assert "coordinates {(5,-1) (5,3)};" in text  # no lower bound
    assert "inf" not in text.lower().replace("\\input", "")
    assert max(abs(float(number)) for number in re.findall(r"[(,](-?[\d.]+(?:e[+-]?\d+)?)(?=[,)])", text)) <= 11.0


def test_no_text_is_a_command() -> None:
    text = pgfplots.figure(chart(caption=r"\write18{rm}"))
    assert r"xlabel={\textbackslash{}input\{x\}}" in text
    assert r"{50 \% of \$x\_1\$}" in text
    assert r"gate \& limit" in text
    assert r"\write18" not in text
    assert "Dashed, grey: ideal." in text


def test_rows_with_names_are_left_to_the_tables() -> None:
    bars = Panel(x=AXIS, y=Axis(names=("a",)), marks=(Bar(row=0, left=0.0, right=1.0),))
    assert not pgfplots.drawable(chart(panels=(bars,)))
    assert not pgfplots.drawable(chart(panels=(), missing="nothing was measured"))


def test_logarithmic_axes_stay_above_zero() -> None:
    log = Axis(low=1.0, high=32.0, log=True)
    text = pgfplots.figure(chart(panels=(Panel(x=log, y=log, marks=(Line(points=((1.0, 0.0), (32.0, 32.0))),)),)))
    assert "xmode=log" in text
    assert "ymode=log" in text
    assert "(1,1) (32,32)" in text
