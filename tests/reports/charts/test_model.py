"""A format draws the marks that it can, and leaves a chart of others out."""

from __future__ import annotations

import io

import openpyxl
import pytest

from fireassay.reports.charts.axes import linear
from fireassay.reports.charts.model import Axis, Chart, Course, Interval, Line, Panel, Spot, intervals, named
from fireassay.reports.page import Page, Section, number
from fireassay.reports.writers import excel, html, markdown
from tests.reports.writers.small import estimate
from tests.reports.writers.support.test_one_screen import screen


def line() -> Chart:
    panel = Panel(x=linear(0, 2), y=linear(0, 2), marks=(Line(points=((0.0, 1.0), (1.0, 2.0))),))
    return Chart(name="line", title="A line", panels=(panel,))


def rows() -> Chart:
    return intervals(name="rows", title="Some rows", rows=(Interval(name="first", number=number(estimate(1.0))),))


def course() -> Chart:
    made = Course(name="speed", quantity="Speed, s", spots=(Spot(name="one", x=1, y=estimate(1.0)),), at="Workers")
    return Chart(name="course", title="A course", panels=(Panel(x=Axis(title="workers"), y=Axis(title="s"), marks=(made,)),))


EVERY = (line, rows, course)


@pytest.mark.parametrize(
    ("formats", "shown"),
    [("html", ("A line", "Some rows")), ("markdown", ("Some rows",)), ("terminal", ("Some rows",)), ("excel", ("A course",))],
)
def test_a_format_leaves_out_what_it_cannot_draw(formats: str, shown: tuple[str, ...]) -> None:
    charts = [make() for make in EVERY]
    page = Page(title="", sections=(Section(key="charts", title="Charts", content=tuple(charts)),), full=True)
    if formats == "excel":
        book = openpyxl.load_workbook(io.BytesIO(excel.write(page)))
        text = " ".join(str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row)
    elif formats == "terminal":
        text = "\n".join(screen(*charts))
    else:
        text = {"html": html, "markdown": markdown}[formats].write(page)
    assert tuple(chart.title for chart in charts if chart.title in text) == shown


def test_the_second_chart_of_a_function_is_numbered() -> None:
    @named("twice")
    def twice(titles: tuple[str, ...]) -> tuple[Chart, ...]:
        return tuple(Chart(title=title) for title in titles)

    assert [chart.name for chart in twice(("a", "b"))] == ["twice", "twice-2"]
