"""Charts of a workbook: every trace and error bar refers to cells, every axis has a title and holds every interval, no gap is drawn as 0."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.reports.charts.model import Axis, Chart, Course, Panel, Spot
from fireassay.reports.page import Page, Section
from fireassay.reports.view import View
from fireassay.reports.writers.excel import write
from fireassay.reports.writers.support.native_charts import CUT
from tests.reports.writers.small import EVIL, estimate
from tests.reports.written import book as opened

GONE = Absent(reason="not_measured", detail="no launch ended")
ONE_LAUNCH = replace(estimate(3.0), low=float("-inf"), high=float("inf"), n_launches=1)


def chart(*values: Estimate | Absent, base: int = 0, look: Any = "joined") -> Chart:
    spots = tuple(Spot(name=f"{EVIL}{place}", x=place + 1, y=value) for place, value in enumerate(values))
    at = "" if look == "bar" else "Workers"
    course = Course(name=EVIL, quantity="Speed, ms", spots=spots, at=at, factor=1000.0, look=look)
    panel = Panel(x=Axis(title="workers"), y=Axis(title="Speed, ms", base=base), marks=(course,))
    return Chart(name="speed", title=f"Speed {EVIL}", stub="Configuration", panels=(panel,))


def sheet(made: Chart) -> Any:
    page = Page(title="small", sections=(Section(key="charts", title="Charts", content=(made,)),))
    return openpyxl.load_workbook(io.BytesIO(write(page)))["Charts"]


def cells(sheet: Any, reference: str) -> list[Any]:
    name, _, area = reference.rpartition("!")
    assert name == sheet.title
    return [cell.value for row in sheet[area.replace("$", "")] for cell in row]


def text(title: Any) -> str:
    return "".join(run.t for paragraph in title.tx.rich.p for run in paragraph.r or ())


def test_traces_and_error_bars_refer_to_cells_in_the_unit_of_the_axis() -> None:
    page = sheet(chart(estimate(1.0), estimate(2.0)))
    (drawn,) = page._charts
    (series,) = drawn.series
    assert cells(page, series.xVal.numRef.f) == [1, 2]
    assert cells(page, series.yVal.numRef.f) == [1000, 2000]
    assert cells(page, series.errBars.minus.numRef.f) == pytest.approx([100, 200])
    assert cells(page, series.errBars.plus.numRef.f) == pytest.approx([100, 200])
    heads = [cell.value for cell in page[4] if cell.value]
    assert heads == ["Configuration", "Workers", "Speed, ms", *(f"Speed, ms, {part}" for part in ("low", "high", "minus", "plus"))]
    assert (text(drawn.x_axis.title), text(drawn.y_axis.title)) == ("workers", "Speed, ms")


def test_a_missing_number_is_an_empty_cell_with_its_reason() -> None:
    page = sheet(chart(estimate(1.0), GONE, ONE_LAUNCH))
    series = page._charts[0].series[0]
    assert cells(page, series.yVal.numRef.f) == [1000, None, 3000]
    assert cells(page, series.errBars.plus.numRef.f)[1:] == [None, None]
    texts = [cell.value for row in page.iter_rows() for cell in row if isinstance(cell.value, str)]
    assert "Speed, ms: no launch ended" in texts
    assert texts.count("no interval: one launch") == 2


def test_an_axis_holds_every_interval() -> None:
    wide = replace(estimate(1.0), low=-0.5, high=3.3)
    axis = sheet(chart(wide, estimate(2.0)))._charts[0].y_axis
    assert axis.scaling.min <= -500
    assert axis.scaling.max >= 3300


def test_an_interval_that_leaves_the_chart_is_said_to() -> None:
    def texts(page: Any) -> list[Any]:
        return [cell.value for row in page.iter_rows() for cell in row]

    assert CUT in texts(sheet(chart(replace(estimate(1.0), high=50.0), estimate(2.0))))
    assert CUT not in texts(sheet(chart(estimate(1.0), estimate(2.0), ONE_LAUNCH)))


def test_a_logarithmic_axis_begins_at_a_power_of_its_base() -> None:
    scaling = sheet(chart(estimate(0.005), estimate(3.0), base=10))._charts[0].y_axis.scaling
    assert (scaling.logBase, scaling.min) == (10, 1)
    assert scaling.max >= 3300


def test_text_of_strangers_stays_text() -> None:
    page = sheet(chart(estimate(1.0)))
    assert {cell.data_type for row in page.iter_rows() for cell in row} <= {"s", "n"}
    assert any(str(cell.value).startswith("=cmd()") for row in page.iter_rows() for cell in row)
    drawn = page._charts[0]
    assert drawn.series[0].tx.strRef is None  # a name that begins with = is no reference
    assert drawn.series[0].tx.v.startswith(" =cmd()")
    assert text(drawn.title).startswith("Speed =cmd()")


@pytest.mark.parametrize("look", ["bar", "stacked"])
def test_names_of_strangers_do_not_break_the_file(look: str) -> None:
    (made,) = sheet(chart(estimate(1.0), estimate(2.0), look=look))._charts
    assert text(made.title).startswith("Speed =cmd()")


@pytest.mark.slow
def test_a_training_has_its_charts(view: View) -> None:
    charts = opened(view)["Charts"]._charts
    assert [text(chart.title) for chart in charts] == [
        "Speedup, the ideal and Amdahl’s law",
        "Efficiency and its threshold",
        "Cost of equal work",
        "Quality, throughput and work per dollar",
        "Parts of a step",
        "Cost of a run",
    ]


@pytest.mark.slow
def test_the_ideal_and_the_gate_are_cells_too(view: View) -> None:
    page = opened(view)["Charts"]
    speedup, efficiency = page._charts[:2]
    assert cells(page, speedup.series[1].yVal.numRef.f) == [1, 2, 4]
    assert set(cells(page, efficiency.series[1].yVal.numRef.f)) == {70}


@pytest.mark.slow
def test_parts_of_a_step_end_where_the_step_ends_or_before(view: View) -> None:
    page = opened(view)["Charts"]
    columns, whole = page._charts[4]._charts
    parts = [cells(page, series.val.numRef.f) for series in columns.ser]
    steps = cells(page, whole.ser[0].val.numRef.f)
    assert len(parts) == 4
    assert all(sum(part) <= step * 1.001 for part, step in zip(zip(*parts, strict=True), steps, strict=True))


@pytest.mark.slow
def test_a_load_has_a_line_per_engine(load: View) -> None:
    page = opened(load)["Charts"]
    assert [text(chart.title) for chart in page._charts] == [
        "Throughput over load",
        "Time to first token over load",
        "Time per output token over load",
        "Goodput over load",
        "Latency against throughput",
    ]
    throughput, *_, curve = page._charts
    assert [cells(page, series.xVal.numRef.f) for series in throughput.series] == [[6, 12], [6, 12]]
    assert cells(page, curve.series[0].xVal.numRef.f) == cells(page, throughput.series[0].yVal.numRef.f)
