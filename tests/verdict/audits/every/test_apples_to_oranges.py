"""apples_to_oranges: conditions that differ besides what is studied."""

from __future__ import annotations

import json

import pytest

from tests.verdict.claiming import claim, found, the_finding
from tests.verdict.making import change, good, judged, rules

PLACEMENT = 16  # column of launches


@pytest.mark.slow
def test_a_record_whose_configurations_ran_in_one_place_is_clear() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": "a", "engine": "torchrun", "cpus": row[4]}))
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_a_record_whose_configurations_ran_on_different_hosts_is_named() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": f"host-{row[4]}"}))
    judgement = judged(made)
    assert rules(judgement) == {"placement_differs": [None]}
    assert "host (host-1 and host-2)" in judgement.verdict.findings[0].evidence


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("base", "own"),
    [("fp16", "float16"), ("bf16", "BFloat16"), (1, "1"), (True, "yes"), (False, "off"), ("H100-80GB", "H100 80GB"), (256, 256.0)],
)
def test_spellings_of_one_value_do_not_differ(base: object, own: object) -> None:
    assert "conditions_differ" not in found(claim(baseline={"precision": base}, candidate={"precision": own}))


@pytest.mark.parametrize(
    ("base", "own", "differ"),
    [
        ("1x A100", "8x A100", False),
        ("A100", "8 A100s", False),
        ("1 GPU", "8 GPUs", False),
        ("one H100", "8 × H100", False),
        ("1x A100", "8x H100", True),
        ("4x A100 40GB", "4x A100 80GB", True),
    ],
)
def test_the_number_of_devices_is_what_is_studied(base: str, own: str, differ: bool) -> None:
    said = claim(baseline={"hardware": base, "gpus": 1}, candidate={"hardware": own, "gpus": 8})
    assert ("conditions_differ" in found(said)) is differ


def test_the_number_of_devices_differs_where_something_else_is_studied() -> None:
    what = {"text": "x", "source": "y", "varying": ["engine"], "exclusive": True}
    assert "conditions_differ" in found(claim(baseline={"hardware": "1x A100"}, candidate={"hardware": "8x A100"}, claim=what))


@pytest.mark.parametrize(
    ("scaling", "base", "own", "differ"),
    [("strong", 256, 32, False), ("weak", 256, 2048, False), ("strong", 256, 2048, True), ("weak", 256, 512, True)],
)
def test_a_batch_may_follow_the_workers_as_the_scaling_says(scaling: str, base: int, own: int, differ: bool) -> None:
    """8 workers against 1: a worker's share of a fixed batch is an eighth; of a fixed share the batch is eightfold."""
    number = {"scaling": scaling, "global_batch": 256 if scaling == "strong" else 2048}
    assert ("conditions_differ" in found(claim(number, baseline={"batch_size": base}, candidate={"batch_size": own}))) is differ
