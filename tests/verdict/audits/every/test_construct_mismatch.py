"""construct_mismatch: numbers of different runs, seeds and splits."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import NUMBER, claim, found, the_finding
from tests.verdict.making import change, good, judged, rules

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
