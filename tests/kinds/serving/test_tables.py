"""The tables of a load: engines beside each other at every load, a number with its interval, and what was not measured named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import scale_for, show
from fireassay.kinds.serving.tables import capacity, cell, details, numbers
from fireassay.reports.page import Table, said
from fireassay.reports.view import View
from tests.kinds.serving.test_answer import shown
from tests.reports.conftest import judged
from tests.serving_made import ServingMade


def heads(table: Table) -> list[str]:
    return [f"{head.above}: {head.text}" if head.above else head.text for head in table.heads]


def named(view: View, name: str) -> Table:
    return next(table for table in details(view) if table.name == name)


@pytest.mark.slow
def test_engines_stand_beside_each_other_at_each_load(load: View) -> None:
    (table,) = numbers(load)
    assert [[said(one).text for one in row[:2]] for row in table.rows] == [["6", "a"], ["6", "b"], ["12", "a"], ["12", "b"]]
    assert heads(table)[:6] == [
        "Offered, req/s",
        "Engine",
        "Throughput: output tokens/s",
        "Throughput: requests/s",
        "Good: goodput, requests/s",
        "Good: met objectives",
    ]


def test_a_cell_is_the_number_of_the_metric_without_its_unit(load: View) -> None:
    (table,) = numbers(load)
    row = load.metric("ttft_p50")
    assert row is not None
    assert row.shown_unit == "ms"
    place = heads(table).index("TTFT: p50, ms")
    shown = row.cells[load.columns[0].key]
    assert said(table.rows[0][place]).text == shown.text.removesuffix(" ms")
    assert said(table.rows[0][place]).below == shown.interval


@pytest.mark.slow
def test_a_scenario_has_its_own_table(scenarios: View) -> None:
    tables = numbers(scenarios)
    assert [table.title for table in tables] == ["D(100,100)", "N(480,240)/(300,150)"]
    assert all(len(table.rows) == 4 for table in tables)
    assert [bool(table.notes) for table in tables] == [False, True]  # what is missing is said once


def test_tables_of_several_scenarios_name_the_scenario(scenarios: View) -> None:
    assert heads(named(scenarios, "cold"))[:2] == ["In flight", "Scenario"]


def test_what_has_no_number_anywhere_is_in_the_notes_and_no_column(load: View) -> None:
    (table,) = numbers(load)
    assert "End to end: p99, ms" not in heads(table)
    assert any("End-to-end latency, p99" in note for note in table.notes)


def test_a_share_keeps_its_sign_and_a_price_loses_its_unit() -> None:
    share = Estimate(
        value=0.5,
        low=0.4,
        high=0.6,
        confidence=0.95,
        unit="fraction",
        n_launches=3,
        n_trials=9,
        launch_values=(),
        method="m",
        signature="s",
    )
    assert said(cell(show(share))).text == "50 %"
    price = replace(share, unit="USD/token", value=2e-6, low=1e-6, high=3e-6)
    assert said(cell(show(price, scale_for("USD/token", (2e-6,))))).text == "2.0"


def test_an_absent_number_is_a_word_with_its_reason() -> None:
    few = said(cell(show(Absent(reason="insufficient", detail="needs more requests"))))
    assert (few.text, few.note, few.tone) == ("too few data", "needs more requests", "absent")
    assert said(cell(show(Absent(reason="not_measured", detail="why")))).text == "–"
    assert said(cell(None)).tone == "absent"


def test_faults_are_told_of_the_loads_that_had_one(load: View) -> None:
    table = named(load, "faults")
    assert [[said(one).text for one in row[:2]] for row in table.rows] == [["6", "a"], ["6", "b"]]
    assert heads(table)[2] == "outage, s"
    assert "One launch each, so no interval; counts are exact." in table.notes


def test_cold_stands_beside_warm(load: View) -> None:
    assert heads(named(load, "cold"))[2:] == ["TTFT: cold, ms", "TTFT: warm, p50, ms"]


def test_failures_are_counted_by_class(load: View) -> None:
    assert load.serving is not None
    table = named(load, "errors")
    assert heads(table)[2:] == ["5xx"]
    assert [int(said(row[2]).text) for row in table.rows] == [own["5xx"] for own in load.serving.errors.values()]


def test_replicas_show_what_they_got(load: View) -> None:
    table = named(load, "replicas")
    assert [[said(one).text for one in row[:2]] for row in table.rows] == [["a", "0"], ["a", "1"], ["b", "0"], ["b", "1"]]
    assert heads(table)[-3:] == ["KV cache in use", "in the batch", "in the queue"]


@pytest.mark.slow
def test_the_grade_of_agreement_is_shown_where_prompts_were_repeated() -> None:
    made = ServingMade(rate=(2.0,), blocks=2, correctness={"identity": 2})
    for block in range(2):
        number = made.launch(block=block)
        for place, text in enumerate(("same", "same", "other" if block else "same")):
            made.request(number, place, kind="identity", example="1", text=text, replica=place % 2)
            made.request(number, place + 0.5, kind="canary", expected="n", text="n")
    table = named(judged(made), "checks")
    (row,) = table.rows
    assert heads(table)[-2:] == ["grade of agreement", "answers that differ"]
    assert said(row[-2]).text == "different"  # no log probabilities: nothing better than "different" is shown
    assert said(row[-1]).text == "1 of 6"


@pytest.mark.slow
def test_capacity_is_said_in_the_unit_of_the_load() -> None:
    (sentence,) = capacity(shown("knee"))
    assert sentence.startswith("Capacity: ")
    assert "requests in flight [" in sentence
    assert "/s" not in sentence


def test_an_unknown_capacity_says_why(load: View) -> None:
    row = load.metric("capacity")
    assert row is not None
    assert not row.known
    assert capacity(load) == ()
    assert any(note.startswith("Capacity, not measured") for table in numbers(load) for note in table.notes)
