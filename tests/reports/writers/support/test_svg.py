"""The charts: SVG in the page's colours whose intervals are never cut silently, and words where there is nothing to draw."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale
from fireassay.reports.build_view import build
from fireassay.reports.charts.axes import linear, logarithmic, rows_axis
from fireassay.reports.charts.model import Bar, Chart, Label, Line, Panel, Point, Reading, Rule
from fireassay.reports.charts.of_view import charts_of
from fireassay.reports.charts.points import has_interval, point
from fireassay.reports.writers.support import svg as charts
from fireassay.verdict.judge import judge
from tests import builders
from tests.reports.conftest import EVIL, pictures_of

pytestmark = pytest.mark.slow


NAMES = (  # others are drawn only where links or collectives were seen
    *("speedup", "phases", "ranks", "quality", "cost-time", "goodput"),
    *("fault", "launch-timeline", "launch-order"),
)


def test_every_picture_is_drawn_from_a_whole_record(pictures: dict[str, charts.Picture]) -> None:
    assert tuple(pictures) == NAMES
    assert all(picture.svg and not picture.chart.missing for picture in pictures.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_well_formed_and_takes_every_colour_from_the_page(pictures: dict[str, charts.Picture], name: str) -> None:
    for svg in (svg for view in pictures[name].views for svg in view.svg):
        ElementTree.fromstring(svg)
        assert not re.search(r' (fill|stroke|font-family|color)="', svg)
        assert re.match(r'<svg class="ch" height="\d+" role="group" aria-label="[^"]*\d', svg)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_can_be_heard_and_its_numbers_are_a_table(pictures: dict[str, charts.Picture], name: str) -> None:
    picture = pictures[name]
    assert re.search(r"\d", picture.chart.description)
    assert picture.caption
    assert picture.readings or name in ("fault", "launch-timeline")  # progress and steps: too many for a table
    for reading in picture.readings:
        assert reading.text
        assert reading.name


def test_the_description_holds_the_numbers_with_their_intervals(pictures: dict[str, charts.Picture]) -> None:
    assert "4 workers 2.50 [2.40, 2.60]" in pictures["speedup"].chart.description
    assert "Amdahl ceiling: 5.90 [5.00, no upper bound]" in pictures["speedup"].caption
    assert "The margin is 0.02." in pictures["quality"].chart.description
    assert "restart 2.50 s" in pictures["fault"].chart.description


@pytest.mark.parametrize(
    ("metrics", "picture", "sentence"),
    [
        (("speedup",), "speedup", "Speedup: not measured (left out by the test)."),
        (("quality_difference",), "quality", "The difference of quality to the base: not measured (left out by the test)."),
        (("cost",), "cost-time", "Cost: not measured (left out by the test)."),
        (("wall_time",), "cost-time", "Time: not measured (left out by the test)."),
        (
            ("data_time", "forward_time", "backward_time", "optimizer_time", "unknown_time"),
            "phases",
            "The phases of a step: not measured (left out by the test).",
        ),
    ],
)
def test_where_data_are_absent_a_sentence_says_why(metrics: tuple[str, ...], picture: str, sentence: str) -> None:
    view = build(builders.measured(launches=1, levels=(1, 2), steps=6), builders.without(builders.judgement(), *metrics))
    assert {chart.name: chart.missing for chart in charts_of(view)}[picture] == sentence


def test_a_phase_that_was_not_marked_is_named(pictures: dict[str, charts.Picture]) -> None:
    assert pictures["phases"].caption.endswith("Not marked by the script: optimizer.")


def test_without_steps_faults_and_successes_every_picture_is_a_sentence() -> None:
    measured = builders.measured(launches=1)
    measured = replace(measured, tables={name: table.clear() for name, table in measured.tables.items()})
    view = build(measured, builders.without(builders.judgement(), *builders.judgement().results))
    finished = pictures_of(view).values()
    of_ranks = "ranks"  # of one rank alone there is nothing to say
    assert [picture.chart.name for picture in finished] == [name for name in NAMES if name != of_ranks]
    assert all(picture.chart.missing and not picture.svg for picture in finished)


def test_a_script_without_steps_still_shows_its_drift() -> None:
    measured = builders.measured(launches=2)
    measured = replace(measured, tables={**measured.tables, "steps": measured.tables["steps"].clear()})
    pictures = pictures_of(build(measured, judge(measured)))
    assert pictures["launch-order"].svg
    assert "No step was recorded" in pictures["launch-timeline"].chart.missing


def test_one_launch_is_drawn_without_an_interval_and_the_key_says_so() -> None:
    measured = builders.measured(launches=1, steps=8)
    pictures = pictures_of(build(measured, judge(measured)))
    assert "mean, one launch: no interval" in [key.text for key in pictures["speedup"].chart.key]
    assert "one round" not in [key.text for key in pictures["speedup"].chart.key]


def estimate(low: float, high: float, k: int) -> Estimate:
    return replace(builders.estimate(2.0, 0.5, "ratio"), low=low, high=high, n_launches=k)


SCALE = Scale(factor=10.0)


def interval(low: float, high: float, k: int = 5, shape: str = "") -> str:
    """The vertical interval of 20 on an axis from 0 to 40, as a path."""
    panel = Panel(x=linear(0, 2), y=linear(0, 40), marks=(point("a", 1.0, estimate(low, high, k), SCALE),), height=100)
    drawing = Chart(title="t", panels=(panel,), caption="As seen.", description="d")
    picture = charts.picture(drawing)
    assert ("Pointed ends" in picture.caption) is (shape == "cut")
    found = re.search(r'class="e" d="([^"]*)"', picture.svg)
    return found[1] if found else ""


def test_an_end_inside_has_a_cap_one_beyond_the_axis_a_point_and_one_without_a_bound_an_arrow() -> None:
    """25 px are 10: 15 lies 12.5 below and 25 as much above; the axis ends 50 above."""
    assert interval(1.5, 2.5) == "M0 -12.5V12.5M-5 -12.5h10M-5 12.5h10"
    assert interval(1.5, 9.0, shape="cut") == "M0 -50.0V12.5M-5 -42.0L0 -50.0 5 -42.0zM-5 12.5h10"
    assert interval(1.5, float("inf")) == "M0 -50.0V12.5M-5 -44.0L0 -50.0 5 -44.0M-5 12.5h10"


def test_one_launch_bounds_nothing() -> None:
    assert not has_interval(estimate(0.0, float("inf"), 1))
    mark = point("a", 1.0, estimate(0.0, float("inf"), 1), SCALE)
    assert (mark.low, mark.high, mark.hollow) == (None, None, True)
    assert interval(0.0, float("inf"), 1) == ""


def test_what_a_mark_stands_for_is_said_with_its_interval_and_launches() -> None:
    told = point("4 workers", 4.0, estimate(1.5, 2.5, 5), SCALE).reading
    assert charts.tip(told) == "4 workers\n20.0\n95 % interval [15.0, 25.0]\n5 launches"


def test_marks_link_only_to_anchors_of_the_page() -> None:
    panel = Panel(x=linear(0, 2), y=linear(0, 40), marks=(point("a", 1.0, estimate(1.5, 2.5, 5), SCALE, target="level-4"),))
    drawing = Chart(title="t", panels=(panel,), caption="c", description="d")
    assert 'href="#level-4"' in charts.picture(drawing, ("level-4",)).svg
    assert "href" not in charts.picture(drawing).svg


def test_no_text_of_a_chart_is_markup() -> None:
    told = Bar(row=0, left=0.0, right=1.0, label=EVIL, reading=Reading(name=EVIL, text=EVIL))
    panel = Panel(x=linear(0, 2, EVIL), y=rows_axis([EVIL]), marks=(told, Label(x=0, y=0, text=EVIL), Rule(x=1.0, text=EVIL)), title=EVIL)
    svg = charts.picture(Chart(title=EVIL, panels=(panel,), caption=EVIL, description=EVIL)).svg
    ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert not set("\x1b\u202e") & set(svg)


@pytest.mark.parametrize(("x", "anchor"), [(0.8, "start"), (1.4, "end")])
def test_the_words_beside_a_line_lie_on_its_longer_side(x: float, anchor: str) -> None:
    text = "shortest step: 14 workers"
    panel = Panel(x=linear(0, 2), y=linear(0, 1), marks=(Rule(x=x, text=text),))
    drawing = Chart(title="t", panels=(panel,), caption="", description="d")
    assert re.search(f'text-anchor="{anchor}">{text}<', charts.picture(drawing).svg)


def test_a_line_that_leaves_the_top_of_a_logarithmic_chart_is_drawn_up_to_it() -> None:
    """The ideal speedup of 32 workers whose chart ends at 6.6: it was not drawn at all."""
    ideal = Line(points=((0.8, 0.8), (40.0, 40.0)))
    panel = Panel(x=logarithmic(0.8, 40.0), y=logarithmic(0.8, 8.0), marks=(ideal,))
    (svg,) = charts.picture(Chart(title="t", panels=(panel,), caption="c", description="d")).views[0].svg
    (points,) = re.findall(r'<polyline class="[^"]*" points="([^"]*)"', svg)
    assert len(points.split()) == 2
    x, y = map(float, points.split()[1].split(","))
    first = float(points.split()[0].split(",")[0])
    assert (x - first) / (1000.0 - 2 * first) == pytest.approx(math.log(8.0 / 0.8) / math.log(40.0 / 0.8), abs=0.02)
    assert y == pytest.approx(26.0, abs=21.0)


def test_a_long_name_of_a_row_stands_in_lines_and_its_number_in_one() -> None:
    name = "answers-llama-3.1-8b-int8-smoothquant-w8a8-calibrated_on_wikitext: −0.75 points [−1.31, −0.43]"
    panel = Panel(x=linear(0.0, 1.0), y=rows_axis((name, "b")), marks=(Point(x=0.5, y=1.0),))
    (svg,) = charts.picture(Chart(title="t", panels=(panel,), caption="c", description="d")).views[0].svg
    first, *more = (
        re.findall(r'<text class="row" y="([\d.]+)">(.*?)</text>', svg)[0][1].replace("</tspan>", "").split('<tspan x="0" dy="15">')
    )
    assert "".join(first.split()) + "".join("".join(line.split()) for line in more) == "".join(name.split())
    assert all(len(line) <= 44 for line in (first, *more))
    assert more[-1].endswith("−0.75\N{NO-BREAK SPACE}points\N{NO-BREAK SPACE}[−1.31,\N{NO-BREAK SPACE}−0.43]")
    (height,) = re.findall(r'class="ch" height="(\d+)"', svg)
    assert int(height) >= 2 * (44 + 15 * len(more))


def test_no_upright_line_crosses_the_name_of_a_row() -> None:
    panel = Panel(x=linear(0.0, 1.0), y=rows_axis(("a: 0.750 [0.705, 0.790]", "b")), marks=(Rule(x=0.3, text="margin"),))
    (svg,) = charts.picture(Chart(title="t", panels=(panel,), name="c", caption="c", description="d")).views[0].svg
    lines = re.findall(r'<line class="(?:g|e)[^"]*" x1="([\d.]+)%" x2="[\d.]+%" y1="([\d.]+)" y2="([\d.]+)"', svg)
    names = re.findall(r'<text class="row" y="([\d.]+)">([^<]+)<', svg)
    assert len(names) == 2
    for baseline, name in ((float(y), name) for y, name in names):
        over = [(x, a, b) for x, a, b in (map(float, line) for line in lines) if x / 100.0 * 340.0 < 7.0 * len(name)]
        assert not [(x, a, b) for x, a, b in over if a < baseline and b > baseline - 10.0], name
