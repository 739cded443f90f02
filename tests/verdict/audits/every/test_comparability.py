"""Do the compared numbers measure one thing under one set of conditions?"""

from __future__ import annotations

import json

import pytest

from tests.verdict.claiming import NUMBER, claim, found, the_finding
from tests.verdict.making import change, good, judged, rules

# ---- construct mismatch ----
# construct_mismatch: numbers of different runs, seeds and splits.

SEED, EXAMPLE = 8, 4  # columns of launches and of examples
COST = {
    "metric": "cost",
    "value": 3.0,
    "unit": "USD",
    "statistic": "median",
    "launches": 5,
    "interval": {"low": 2.9, "high": 3.1, "kind": "confidence"},
    "conditions": {"price": "2 USD per GPU-hour"},
}


@pytest.mark.slow
def test_blocks_that_share_their_seed_and_one_set_of_examples_are_clear() -> None:
    made = good()
    change(made, "launches", SEED, lambda row: 1000 + row[5])
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_seeds_that_differ_inside_a_block_are_named() -> None:
    made = good()
    change(made, "launches", SEED, 7, workers=2)
    judgement = judged(made)
    assert rules(judgement) == {"seeds_differ": [None]}
    assert judgement.verdict.findings[0].evidence.startswith("in 5 blocks")


@pytest.mark.slow
def test_a_configuration_that_was_scored_on_another_split_is_inadmissible() -> None:
    made = good()
    change(made, "examples", EXAMPLE, lambda row: f"other-{row[EXAMPLE]}", workers=2)
    judgement = judged(made)
    assert rules(judgement)["evaluation_sets_differ"] == ["workers=2"]
    finding = next(f for f in judgement.verdict.findings if f.rule == "evaluation_sets_differ")
    assert finding.evidence.startswith("80 examples")  # 40 of each side
    assert judgement.verdict.status == "INVALID"


def test_numbers_of_one_run_are_clear() -> None:
    assert found(claim(numbers=[NUMBER, COST | {"run": "r1"}])) == {}


def test_numbers_of_different_runs_are_inadmissible() -> None:
    finding = the_finding(claim(numbers=[NUMBER, COST | {"run": "r2"}]), "numbers_of_different_runs")
    assert finding.severity == "invalid"
    assert "r1; r2" in finding.evidence
    assert finding.needs == ("one_configuration",)


def test_conditions_of_the_numbers_that_differ_are_inadmissible() -> None:
    numbers = [NUMBER | {"conditions": {"seed": 7}}, COST | {"run": "r1", "conditions": {"seed": 3, "price": "2 USD per GPU-hour"}}]
    assert found(claim(numbers=numbers)) == {"conditions_of_numbers_differ": "invalid"}


def test_quality_is_to_be_measured_too_if_it_is_among_the_numbers() -> None:
    accuracy = {"metric": "accuracy", "value": 0.9, "run": "r2"}
    assert the_finding(claim(numbers=[NUMBER, accuracy]), "numbers_of_different_runs").needs == ("one_configuration", "quality")


def test_two_systems_may_have_their_own_runs_but_not_their_own_worker_counts() -> None:
    two = [NUMBER | {"of": "A", "run": "a"}, NUMBER | {"of": "B", "run": "b"}]
    what = {"text": "x", "source": "y", "varying": ["method"], "exclusive": True}
    assert "numbers_of_different_runs" not in found(claim(numbers=two, claim=what))
    two[1] |= {"workers": 16}
    assert "workers (8 and 16)" in the_finding(claim(numbers=two, claim=what), "conditions_of_numbers_differ").evidence


def test_numbers_that_do_not_name_their_runs_are_left_open() -> None:
    without = {key: value for key, value in NUMBER.items() if key != "run"}
    assert found(claim(numbers=[without, COST])) == {"runs_unsaid": "note"}


def speed(**changes: object) -> dict[str, object]:
    return {key: value for key, value in (NUMBER | {"baseline": None} | changes).items() if value is not None}


VARIED = {"text": "x", "source": "y", "varying": ["method"], "exclusive": True}


def test_a_sweep_of_one_metric_is_no_mismatch() -> None:
    """One system at 1 and 8 workers, each from a run of its own; two systems at the same worker counts."""
    rates = [speed(metric="throughput", unit="items/s", workers=w, run=f"r{w}", value=v) for w, v in ((1, 5.9), (8, 6.0))]
    assert "numbers_of_different_runs" not in found(claim(numbers=rates))
    two = [speed(metric="throughput", unit="items/s", of=of, workers=w) for of in "AB" for w in (1, 4)]
    assert "conditions_of_numbers_differ" not in found(claim(numbers=two, claim=VARIED))
    swept = [speed(conditions={"length": length}) for length in (512, 2048)]
    assert "conditions_of_numbers_differ" not in found(claim(numbers=swept))


def test_systems_given_by_different_statistics_are_not_comparable() -> None:
    two = [speed(metric="latency", unit="s", of=of, statistic=s, trials=5000) for of, s in (("A", "p99"), ("B", "p90"))]
    finding = the_finding(claim(numbers=two, claim=VARIED), "statistics_differ")
    assert finding.severity == "invalid"
    assert "of A is a p99, of B a p90" in finding.evidence
    two.append(two[1] | {"statistic": "p99"})
    assert "statistics_differ" not in found(claim(numbers=two, claim=VARIED)), "the p99 is there of both"


# ---- apples to oranges ----
# apples_to_oranges: conditions that differ besides what is studied.

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
