"""A page as a workbook: real numbers with their units and formats, text that stays text."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import openpyxl
import pytest

from fireassay.reports.page import Page
from fireassay.reports.writers.excel import sheet_names, write
from tests.reports.writers.small import DATA, EVIL, PAGE


def book(page: Page) -> Any:
    return openpyxl.load_workbook(io.BytesIO(write(page)))


def rows(sheet: Any) -> list[tuple[Any, ...]]:
    return [tuple(cell.value for cell in row) for row in sheet.iter_rows()]


def test_every_table_and_list_is_a_sheet_and_numbers_keep_value_low_and_high() -> None:
    made = book(PAGE)
    assert made.sheetnames == ["Verdict", "Numbers", "States", "Findings", "Conditions", "Loads"]
    numbers = rows(made["Numbers"])
    assert numbers[0][:4] == ("Metric", "1 worker", "1 worker, low", "1 worker, high")
    assert numbers[1][:5] == ("Step time", 0.1, pytest.approx(0.09), pytest.approx(0.11), "s")
    assert numbers[2][1] == "not measured"
    assert made["Numbers"]["B2"].number_format == "0.000000"
    assert rows(made["Loads"])[0] == (
        "In flight",
        "TTFT, p50, ms (s)",
        "TTFT, p50, ms, low (s)",
        "TTFT, p50, ms, high (s)",
        "TTFT, p99, ms",
    )
    assert made.properties.created == datetime(2026, 2, 3)


def test_sections_of_data_replace_all_others() -> None:
    made = book(DATA)
    assert made.sheetnames == ["Sheet", "Raw"]
    assert rows(made["Sheet"])[1][1] == 0.25
    assert made["Sheet"]["B2"].number_format == "0.000"
    assert rows(made["Sheet"])[2] == ("inf", "no bound")
    assert rows(made["Raw"]) == [("a", "b"), ("x", 1.5), ("left", None)]


def test_text_that_looks_like_a_formula_stays_text() -> None:
    cell = book(DATA)["Sheet"]["A2"]
    assert cell.data_type == "s"
    assert str(cell.value).startswith(EVIL[:6])


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["Summary D(100,100)"], ["Summary D(100,100)"]),
        (["Summary N(480,240)/(300,150)"], ["Summary N(480,240)-(300,150)"]),
        (["Summary " + "x" * 40] * 2, ["Summary " + "x" * 23, "Summary " + "x" * 21 + " 2"]),
        (["Summary a", "Summary A"], ["Summary a", "Summary A 2"]),
        (["'quoted'"], ["quoted"]),
    ],
)
def test_names_of_sheets_are_those_that_excel_takes(texts: list[str], names: list[str]) -> None:
    assert sheet_names(texts) == names
