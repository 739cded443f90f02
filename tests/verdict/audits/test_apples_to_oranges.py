"""apples_to_oranges: conditions that differ besides what is studied."""

from __future__ import annotations

import json

from tests.verdict.claiming import claim, found, the_finding
from tests.verdict.making import change, good, judged, rules

PLACEMENT = 16  # column of launches


def test_a_record_whose_configurations_ran_in_one_place_is_clear() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": "a", "engine": "torchrun", "cpus": row[4]}))
    assert rules(judged(made)) == {}


def test_a_record_whose_configurations_ran_on_different_hosts_is_named() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": f"host-{row[4]}"}))
    judgement = judged(made)
    assert rules(judgement) == {"placement_differs": [None]}
    assert "host (host-1 and host-2)" in judgement.verdict.findings[0].evidence


def test_a_placement_that_is_no_table_says_nothing() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: "[]" if row[4] == 1 else "no JSON")
    assert rules(judged(made)) == {}


def test_a_condition_that_differs_makes_the_claim_inadmissible() -> None:
    finding = the_finding(claim(baseline={"hardware": "A100"}, candidate={"hardware": "H100"}), "conditions_differ")
    assert finding.severity == "invalid"
    assert "hardware (A100 and H100)" in finding.evidence


def test_what_is_studied_and_what_follows_from_it_may_differ() -> None:
    assert found(claim(baseline={"nodes": 1, "workers": 1}, candidate={"nodes": 8, "workers": 8})) == {}
    strong = {"batch_per_worker": 256}, {"batch_per_worker": 32}
    assert found(claim(baseline=strong[0], candidate=strong[1])) == {}


def test_a_condition_of_one_side_and_no_condition_at_all_leave_it_open() -> None:
    assert found(claim(candidate={"software": "torch 2.9"})) == {"condition_of_one_side": "note"}
    assert found(claim(conditions={"baseline": {}, "candidate": {}})) == {"conditions_unsaid": "note"}
