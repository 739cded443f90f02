"""budget: the cost of a run, workers x price x wall time."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.spec.experiment import Gates
from tests.verdict.making import estimate, gate, good, judged, pick

pytestmark = pytest.mark.slow


def test_without_a_budget_there_is_no_gate() -> None:
    assert all(result.gate != "budget" for result in judged(good(prices=3.6)).verdict.gates)


@pytest.mark.parametrize(("budget", "one", "two"), [(0.030, "PASS", "PASS"), (0.025, "PASS", "FAIL"), (0.01, "FAIL", "FAIL")])
def test_a_run_must_cost_at_most_the_budget(budget: float, one: str, two: str) -> None:
    """3.60 dollars an hour are 0.001 a second: 1 x 20 s = 0.02 dollars, 2 x 14.14 s = 0.0283 dollars."""
    judgement = judged(good(prices=3.6, gates=Gates(budget_usd=budget)))
    cost = estimate(judgement, "cost", 1), estimate(judgement, "cost", 2)
    assert [value.value for value in cost] == pytest.approx([0.02, 0.02 * 2**0.5], rel=1e-3)
    assert (gate(judgement, "budget", 1).status, gate(judgement, "budget", 2).status) == (one, two)
    for workers in (1, 2):
        cost_of = judgement.verdict.dimensions[f"workers={workers}"]["cost"]
        assert cost_of.status == gate(judgement, "budget", workers).status


def test_the_largest_under_budget_is_picked_among_those_that_hold_quality() -> None:
    assert pick(judged(good(prices=3.6, gates=Gates(budget_usd=0.025))), "under budget") == "workers=1"
    assert pick(judged(good(prices=3.6, gates=Gates(budget_usd=0.03))), "under budget") == "workers=2"
    poor = good(prices=3.6, gates=Gates(budget_usd=0.03), right={2: 10})
    assert pick(judged(poor), "under budget") == "workers=1"


def test_what_costs_nothing_meets_every_budget_with_any_number_of_launches() -> None:
    judgement = judged(good(blocks=1, prices=0.0, gates=Gates(budget_usd=0.01)))
    assert isinstance(judgement.results["cost"]["workers=2"], Estimate)
    assert gate(judgement, "budget", 2).status == "PASS"
