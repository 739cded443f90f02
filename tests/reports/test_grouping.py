"""Grouping: what several configurations share is said once, and nothing that differs is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.reports.grouping import absences, findings, gates, places
from fireassay.reports.view import FindingRow, View
from fireassay.reports.words import WHOLE


def found(view: View, key: str, evidence: str, rule: str = "slow") -> FindingRow:
    return FindingRow(rule=rule, severity="note", configuration=key, where=view.label(key), evidence=evidence, remedy="wait")


def test_equal_findings_of_all_configurations_are_one(load: View) -> None:
    view = replace(load, findings=tuple(found(load, column.key, "too slow") for column in load.columns))
    (group,) = findings(view)
    assert [(one.where, one.sentence) for one in group.told] == [("all 4 configurations", "too slow")]


def test_findings_that_differ_stay_under_one_head(load: View) -> None:
    first, second, third, _ = (column.key for column in load.columns)
    rows = (found(load, first, "1 s"), found(load, second, "2 s"), found(load, third, "1 s"), found(load, third, "x", "other"))
    one, other = findings(replace(load, findings=rows))
    assert [(told.where, told.sentence) for told in one.told] == [("a and b: 6 req/s", "1 s"), ("a: 12 req/s", "2 s")]
    assert [told.sentence for told in other.told] == ["x"]


def test_a_finding_about_the_whole_record_names_it(load: View) -> None:
    row = replace(found(load, load.base, "odd"), configuration=None)
    (group,) = findings(replace(load, findings=(row,)))
    assert group.told[0].where == WHOLE


def test_no_finding_and_no_gate_is_lost(load: View) -> None:
    told = [(group.rule, one.sentence) for group in findings(load) for one in group.told]
    assert set(told) == {(row.rule, row.evidence) for row in load.findings}
    sentences = [(group.gate, group.status, one.sentence) for group in gates(load) for one in group.told]
    assert set(sentences) == {(row.gate, row.status, row.sentence) for row in load.gates}


def test_a_reason_shared_by_several_metrics_is_one_line(load: View) -> None:
    energy = [row for row in load.metrics if row.name.startswith("energy")]
    assert len(energy) > 1
    (line,) = absences(load, energy)
    assert all(row.title in line for row in energy)
    assert "(all 4 configurations)" in line


def test_of_reasons_that_differ_one_stands_as_an_example(load: View) -> None:
    row = load.metric("e2e_p99")
    assert row is not None
    assert not row.known
    (line,) = absences(load, [row])
    assert "for example End-to-end latency, p99, a, 6 req/s: p99 needs" in line


def test_places_of_training_are_its_labels(view: View) -> None:
    assert places(view, [column.key for column in view.columns[:2]]) == "1 and 2 workers"


@pytest.mark.slow
def test_places_say_shared_loads_once(scenarios: View) -> None:
    keys = [column.key for column in scenarios.columns if column.load in (1.0, 2.0)]
    assert places(scenarios, keys) == "D(100,100) and N(480,240)/(300,150): 1, 2 in flight"


@given(data=st.data())
def test_every_place_is_named(data: st.DataObject, load: View) -> None:
    chosen = data.draw(st.lists(st.sampled_from(load.columns), min_size=1, unique=True))
    text = places(load, [column.key for column in chosen])
    if len(chosen) == len(load.columns):
        assert text == "all 4 configurations"
    else:
        assert {column.engine for column in chosen} == {name for name in "ab" if name in text.replace("and", "")}
        assert all(column.brief.partition(" ")[0] in text for column in chosen)
