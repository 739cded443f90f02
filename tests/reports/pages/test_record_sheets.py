"""The workbook, opened again with another library: real numbers, units in the heads, text that is no formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.view import View
from tests import builders
from tests.reports.written import book as opened
from tests.reports.written import content, rows


@pytest.fixture(scope="module")
def book(view: View) -> Any:
    """The workbook as openpyxl reads it."""
    return opened(view)


@pytest.mark.slow
def test_there_is_one_sheet_per_section(book: Any) -> None:
    assert book.sheetnames == [
        "Answer",
        "Charts",
        "Verdict",
        "Numbers",
        "Metrics",
        "Gates",
        "Findings",
        "Launches",
        "Environment",
        "Conditions",
    ]


def test_the_first_sheet_answers(book: Any, view: View) -> None:
    first, *further = rows(book, "Answer")
    assert first["Status"] == view.word
    assert first["Sentence"].startswith(f"{view.name}: ")
    assert {"Evidence", "Next", "Record"} <= {row["What"] for row in further}


def test_the_heads_name_the_units_and_the_cells_are_numbers(book: Any) -> None:
    lines = rows(book, "Numbers")
    assert [row["Step time (s)"] for row in lines] == [0.1, 0.055, 0.04]
    assert lines[1]["Step time, low (s)"] == pytest.approx(0.053)
    assert lines[0]["Energy of a run (J)"] == "not measured"


def test_a_percentage_is_a_fraction_with_a_percent_format(book: Any) -> None:
    sheet = book["Numbers"]
    column = next(cell.column for cell in sheet[1] if cell.value == "Parallel efficiency (fraction)")
    cell = sheet.cell(row=3, column=column)
    assert (cell.value, cell.number_format) == (0.909, "0.0000%")


def test_every_metric_value_is_a_row(book: Any, view: View) -> None:
    lines = rows(book, "Metrics")
    assert len(lines) == sum(len(row.cells) for row in view.metrics)
    (ceiling,) = [row for row in lines if row["Metric"] == "amdahl_ceiling"]
    assert (ceiling["Value (in Unit)"], ceiling["High (in Unit)"]) == (5.9, "no upper bound")
    (lost,) = [row for row in lines if row["Metric"] == "recovery_time" and row["Workers"] == 4]
    assert (lost["Value (in Unit)"], lost["Low (in Unit)"]) == (3.67, "no interval: one launch")


def test_launches_keep_their_reason_and_their_seconds(book: Any) -> None:
    lines = rows(book, "Launches")
    assert len(lines) == 17
    assert lines[-1]["Reason"].startswith("the script exited with 3")
    assert lines[-1]["Wall (s)"] == 2.0
    assert all(isinstance(row["Wall (s)"], (int, float)) for row in lines)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "http://evil.example"])
def test_text_never_becomes_a_formula_a_number_or_a_link(text: str) -> None:
    judged = builders.judgement()
    judged = replace(judged, verdict=replace(judged.verdict, sentence=text))
    sheet = opened(build(builders.measured(), judged))["Verdict"]
    cell = sheet["D2"]
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


@pytest.mark.slow
def test_text_longer_than_a_cell_is_cut_and_control_characters_do_not_break_the_file() -> None:
    judged = builders.judgement()
    judged = replace(judged, verdict=replace(judged.verdict, sentence="\x00\x1b[31m" + "x" * 40_000))
    sheet = opened(build(builders.measured(), judged))["Verdict"]
    assert len(sheet["D2"].value) >= 32_000


@pytest.mark.slow
def test_the_same_view_gives_the_same_bytes(view: View) -> None:
    assert content(view, "excel") == content(view, "excel")


@pytest.mark.parametrize(
    ("style", "end", "way", "shown"),
    [
        ("0.0000", 0.69999, "down", "0.00000"),  # four decimals would show 0.7000
        ("0.0000", 0.70004, "down", "0.0000"),
        ("0.0000", 0.70004, "up", "0.00000"),
        ("0.0000%", 0.6999996, "down", "0.00000%"),
        ("#,##0", 3.6, "down", "#,##0.0"),
        ("$0.00000E+00", 1.2345678e-6, "down", "$0.000000E+00"),
        ("0.0000", 0.69999, "nearest", "0.0000"),
    ],
)
def test_an_end_is_shown_outwards_by_as_many_decimals_as_excel_needs(style: str, end: float, way: str, shown: str) -> None:
    from fireassay.reports.cell import _outwards

    found = _outwards(style, end, way)  # type: ignore[arg-type]
    assert found.startswith(shown.split("E")[0].rstrip("%"))
    if "E" not in style and way != "nearest":
        places = len(found.rstrip("%").partition(".")[2]) + (2 if "%" in found else 0)
        assert (round(end, places) <= end) if way == "down" else (round(end, places) >= end)
