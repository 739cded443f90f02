"""The workbook of a load: a summary per scenario with the columns of genai-bench, a row per request, text that is no formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.serving import tables
from fireassay.reports.metric_tables import WORKBOOK
from fireassay.reports.view import View
from tests.reports.conftest import EVIL
from tests.reports.written import book as opened
from tests.reports.written import rows as table_of


@pytest.fixture(scope="module")
def book(load: View) -> Any:
    return opened(load)


@pytest.mark.slow
def test_the_sheets_of_a_load_stand_after_its_numbers(book: Any) -> None:
    assert book.sheetnames == [
        "Answer",
        "Charts",
        "Verdict",
        "Numbers",
        "Summary D(100,100)",
        "Under faults",
        "Cold and warm start",
        "Correctness of the answers",
        "Failed requests by class",
        "Replicas",
        "Requests",
        "Metrics",
        "Gates",
        "Findings",
        "Launches",
        "Environment",
        "Conditions",
    ]


@pytest.mark.slow
def test_a_summary_has_a_row_per_engine_and_load(load: View, book: Any) -> None:
    rows = table_of(book, "Summary D(100,100)")
    assert [(row["Engine"], row["Rate (requests/s)"]) for row in rows] == [("a", 6), ("a", 12), ("b", 6), ("b", 12)]
    goodput = load.metric("goodput")
    assert goodput is not None
    assert rows[0]["Goodput (requests/s)"] == goodput.cells[load.columns[0].key].value.value  # type: ignore[union-attr]


def test_every_metric_of_the_summary_has_its_column_filled(load: View, book: Any) -> None:
    rows = table_of(book, "Summary D(100,100)")
    assert len(load.shown_in(WORKBOOK)) == 7
    for place, metric in load.shown_in(WORKBOOK):
        cells = [metric.cells[column.key] for column in load.columns]
        expected = [cell.value.value if isinstance(cell.value, Estimate) else cell.text for cell in cells]
        assert [row[place.head] for row in rows] == [
            pytest.approx(value, rel=1e-12) if isinstance(value, float) else value for value in expected
        ]
    assert all(isinstance(row["Cost per output token (USD)"], float) for row in rows)


def test_percentiles_pool_the_counted_answered_requests(load: View, book: Any) -> None:
    assert load.serving is not None
    own = load.serving.requests.filter(configuration=load.columns[1].key, counted=True, role="timed", ok=True)
    row = table_of(book, "Summary D(100,100)")[1]
    assert row["Answered"] == own.height
    assert row["TTFT (s) p95"] == pytest.approx(own["ttft_s"].quantile(0.95, "linear"))
    assert row["TTFT (s) mean"] == pytest.approx(own["ttft_s"].mean())


@pytest.mark.slow
def test_every_request_has_a_row(load: View, book: Any) -> None:
    assert load.serving is not None
    rows = table_of(book, "Requests")
    assert len(rows) == load.serving.requests.height
    first = load.serving.requests.row(0, named=True)
    assert rows[0]["Status"] == first["status"]
    assert rows[0]["Counted"] in ("yes", "no")
    assert {row["Status"] for row in rows} == set(load.serving.requests["status"].unique())


@pytest.mark.slow
def test_answers_that_came_whole_have_no_speed_and_break_no_workbook(load: View) -> None:
    """Behind a stall all tokens of an answer come in one read: its time per token is 0."""
    assert load.serving is not None
    mine = pl.col("configuration") == load.columns[0].key
    requests = load.serving.requests.with_columns(
        tpot_s=pl.when(mine).then(0.0 * pl.col("tpot_s")).otherwise("tpot_s"), e2e_s=pl.when(mine).then(float("inf")).otherwise("e2e_s")
    )
    book = opened(replace(load, serving=replace(load.serving, requests=requests)))
    whole, other = table_of(book, "Summary D(100,100)")[:2]
    speed = "Output speed of one request (tokens/s) mean"
    assert whole[speed] is None
    assert other[speed] > 0
    assert whole["End-to-end latency (s) p95"] == "no bound"
    assert {row["End to end (s)"] for row in table_of(book, "Requests") if row["Configuration"] == load.columns[0].key} == {None}


@pytest.mark.slow
def test_what_is_left_out_is_said(load: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 10)
    assert load.serving is not None
    rows = list(opened(load)["Requests"].iter_rows(values_only=True))
    assert len(rows) == 12
    assert rows[-1][0] == f"{load.serving.requests.height - 10:,} further requests are in the record and not in this sheet"


def test_launches_count_requests_and_no_steps(book: Any) -> None:
    row = table_of(book, "Launches")[0]
    assert row["Requests due"] == row["Answered"] + row["Failed"]
    assert "Steps" not in row
    assert "Workers" not in row


@pytest.mark.slow
def test_what_a_server_wrote_is_no_formula(hostile: View) -> None:
    book = opened(hostile)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert any(str(cell.value).startswith("=cmd()<script>") for cell in cells)
    assert EVIL[:6] == "=cmd()"
