"""The verdict on loads: status and its precedence, dimensions, recommendations and the sentence.

Objectives of the records by hand: 0.5 s to the first token.  500 requests a launch, 3 launches: 1,500 without a miss bound the
attainment by 0.025^(1/1500) = 99.75 %, 15 misses of 1,500 are 99.0 %, 150 are 90 %.
"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.spec.experiment import Gates
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.judge import Judgement, judge
from fireassay.verdict.types import DIMENSIONS, Recommendation
from tests.serving_made import ServingMade, simulated
from tests.tiers import some
from tests.verdict.judging import Asked

pytestmark = pytest.mark.slow


ASKED = Objectives(ttft_s=0.5)


def loads(
    misses: dict[str, int], *, blocks: int = 3, requests: int = 500, lag_s: float = 0.0, objectives: Objectives = ASKED, **made: Any
) -> ServingMade:
    """One launch per block and configuration; so many of its requests take 1 s to the first token instead of 0.1 s."""
    rates = tuple(float(name.split("rate=")[1]) for name in misses)
    record = ServingMade(rate=tuple(dict.fromkeys(rates)), blocks=blocks, objectives=objectives, seconds=50.0, **made)
    for block in range(blocks):
        for name, missing in misses.items():
            launch = record.launch(name, block=block, wall_s=60.0)
            for place in range(requests):
                slow = place % requests < missing
                record.request(launch, 50.0 * place / requests, ttft_s=1.0 if slow else 0.1, lag_s=lag_s, replica=place % 2)
    return record


def judged(made: ServingMade) -> Asked:
    return Asked(made.measured())


def pick(judgement: Asked | Judgement, goal: str = "recommended") -> Recommendation:
    return next(one for one in judgement.verdict.recommendations if one.goal == goal)


def test_the_largest_load_that_passes_is_recommended_and_the_next_one_says_why_not() -> None:
    judgement = judged(loads({"rate=10": 0, "rate=20": 0, "rate=40": 50}))
    assert judgement.verdict.status == "PASS"
    assert pick(judgement).configuration == "rate=20"
    sentence = judgement.verdict.sentence
    assert sentence.startswith(
        "served: rate=20 on 2 replicas is the largest admissible load: 100.00 % [99.75, 100.00] of the requests within time to first token ≤ 0.5 s"
    )
    assert "; rate=40 does not pass: requests within the objectives 90.0 %" in sentence
    assert (
        "Conditions: chat with tiny, D(100,100); poisson arrivals for 50 s after 0 s of warm-up; 3 launches per configuration" in sentence
    )
    assert sentence.endswith("Not measured: correctness, cost, energy.") or "Not measured: correctness" in sentence


def test_a_load_that_meets_nothing_fails_and_names_the_smallest() -> None:
    judgement = judged(loads({"rate=10": 500, "rate=20": 500}))
    assert judgement.verdict.status == "FAIL"
    assert judgement.verdict.sentence.startswith("served: FAIL: no load passes; at the smallest, rate=10: requests within the objectives 0")
    assert pick(judgement).configuration is None


def test_an_interval_that_straddles_the_objective_is_inconclusive() -> None:
    """5 of 500 miss in each launch: 99.0 %, of which the interval holds numbers on both sides."""
    judgement = judged(loads({"rate=10": 5}))
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert "may or may not meet the gate of at least 99 %" in judgement.verdict.sentence


def test_two_launches_decide_nothing() -> None:
    judgement = judged(loads({"rate=10": 0}, blocks=2))
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert "2 launches carry no verdict" in judgement.verdict.sentence


def test_without_objectives_a_load_is_measured_and_says_so() -> None:
    judgement = judged(loads({"rate=10": 0, "rate=20": 250}, objectives=Objectives()))
    assert judgement.verdict.status == "MEASURED"
    assert "measured; no objective was given. At rate=10: throughput" in judgement.verdict.sentence
    assert pick(judgement).configuration is None
    assert "no objective was requested" in pick(judgement).sentence
    assert pick(judgement, "fastest").configuration in ("rate=10", "rate=20")


def test_without_objectives_two_launches_are_measured_as_nothing_is_open() -> None:
    judgement = judged(loads({"rate=10": 0}, blocks=2, objectives=Objectives()))
    assert judgement.verdict.status == "MEASURED"
    assert "2 launches carry no verdict" in judgement.verdict.dimensions["rate=10"]["performance"].sentence


def test_a_client_that_lagged_makes_everything_inadmissible_whatever_passes() -> None:
    judgement = judged(loads({"rate=10": 0, "rate=20": 500}, lag_s=0.05))
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.sentence.startswith(
        "served: INVALID, no number of this record may be quoted: rate=10: requests were sent late"
    )
    assert {one.configuration for one in judgement.verdict.recommendations} == {None}
    assert judgement.verdict.dimensions["rate=10"]["performance"].status == "INVALID"


def swapped() -> ServingMade:
    made = loads({"rate=10": 0})
    for place, nonce in enumerate(("nonce-alpha", "nonce-bravo")):
        made.request(0, 49.9, kind="canary", expected=nonce, text="nonce-alpha" if place else "nonce-bravo")
    return made


def test_answers_to_the_wrong_asker_fail_a_load_that_meets_its_objectives() -> None:
    judgement = judged(swapped())
    assert judgement.verdict.status == "FAIL"
    assert "another request's nonce" in judgement.verdict.sentence
    assert judgement.verdict.dimensions["rate=10"]["correctness"].status == "FAIL"
    assert judgement.verdict.dimensions["rate=10"]["performance"].status == "PASS"
    assert pick(judgement, "fastest").configuration is None


def test_an_inadmissible_record_is_invalid_even_if_answers_were_swapped() -> None:
    made = swapped()
    made.rows["requests"] = made.rows["requests"][1:]
    assert judged(made).verdict.status == "INVALID"


def test_a_fault_that_was_not_survived_fails_the_record() -> None:
    made = loads({"rate=10": 0})
    launch = made.launch("rate=10", block=3, role="fault", status="failed", reason="the engine ended")
    made.event(launch, "fault", 20.0, value=1)
    judgement = judged(made)
    assert judgement.verdict.status == "FAIL"
    assert "did not survive 1 fault launch: the engine ended" in judgement.verdict.sentence


def test_every_dimension_of_every_load_has_its_status_and_its_sentence() -> None:
    judgement = judged(loads({"rate=10": 0, "rate=40": 50}, prices=1.0))
    for row in judgement.verdict.dimensions.values():
        assert tuple(row) == DIMENSIONS
        assert all(result.sentence for result in row.values())
    row = judgement.verdict.dimensions["rate=10"]
    assert {name: result.status for name, result in row.items()} == {
        "correctness": "NOT_MEASURED",
        "performance": "PASS",
        "cost": "MEASURED",
        "reliability": "PASS",
    }
    assert "no fault was injected" in row["reliability"].sentence
    assert judgement.verdict.dimensions["rate=40"]["performance"].status == "FAIL"


def test_the_cheapest_load_is_the_one_with_the_cheapest_good_token() -> None:
    """Twice the rate at the same price of an hour: half the price of a token; but half of the tokens of rate=40 are late."""
    judgement = judged(loads({"rate=10": 0, "rate=40": 400}, prices=1.0))
    assert pick(judgement, "cheapest").configuration == "rate=10"
    assert pick(judgement, "cheapest").sentence.startswith("cost of good tokens $")


def test_a_budget_is_a_gate_of_loads_too() -> None:
    """A launch lasts 60 s on two replicas at $60 an hour: $2."""
    asked = {"prices": 60.0, "objectives": Objectives()}
    assert judged(loads({"rate=10": 0}, gates=Gates(budget_usd=3.0), **asked)).verdict.status == "PASS"
    judgement = judged(loads({"rate=10": 0}, gates=Gates(budget_usd=1.0), **asked))
    assert (judgement.verdict.status, judgement.verdict.dimensions["rate=10"]["cost"].status) == ("FAIL", "FAIL")


def test_each_engine_has_a_recommendation_of_its_own() -> None:
    names = ("engine=a rate=10", "engine=a rate=20", "engine=b rate=10", "engine=b rate=20")
    judgement = judged(loads(dict(zip(names, (0, 0, 0, 100), strict=True)), engines=("a", "b")))
    assert pick(judgement, "recommended for a, D(100,100)").configuration == "engine=a rate=20"
    assert pick(judgement, "recommended for b, D(100,100)").configuration == "engine=b rate=10"
    assert pick(judgement).configuration in ("engine=a rate=20", "engine=b rate=10")


def test_a_rival_whose_interval_overlaps_is_named() -> None:
    judgement = judged(simulated(rate=(8.0,), engines=("a", "b"), seed=2))
    assert "not separated from engine=" in pick(judgement, "fastest").sentence


def test_many_errors_without_a_limit_leave_reliability_open() -> None:
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(100):
            made.request(launch, 0.1 * place, status="5xx" if place < 10 else "ok", replica=place % 2)
    judgement = judged(made)
    assert judgement.verdict.status == "MEASURED"
    row = judgement.verdict.dimensions["rate=10"]["reliability"]
    assert row.status == "INCONCLUSIVE"
    assert row.sentence.startswith("10.0 % [")


@pytest.mark.parametrize(
    "how", some([{}, {"rate": (), "concurrency": (4, 64)}, {"outage": (5.0, 10.0)}, {"engines": ("a", "b"), "scored": 0.9}])
)
def test_simulated_records_are_judged_with_numbers_of_every_load(how: dict[str, Any]) -> None:
    judgement = judge(simulated(**{"rate": (4.0, 8.0), **how}).measured())
    assert judgement.verdict.status in ("PASS", "INCONCLUSIVE")
    assert all(isinstance(value, Estimate) for value in judgement.results["request_throughput"].values())


def test_a_record_without_a_launch_is_inconclusive_and_says_why() -> None:
    judgement = judged(ServingMade(rate=(10.0,)))
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert "no timed launch of rate=10 succeeded" in judgement.verdict.sentence


def test_the_agreement_of_equal_prompts_stands_in_the_correctness() -> None:
    made = loads({"rate=10": 0}, correctness={"identity": 1, "grade": "token_identical"})
    for place in range(2):
        made.request(0, 49.9, kind="identity" if place == 0 else "rerun", example="7", text="the same", replica=place)
    row = judged(made).verdict.dimensions["rate=10"]["correctness"]
    assert row.status == "PASS"
    assert "agreement of equal prompts: token_identical at least, bitwise at best" in row.sentence
