"""deadline, budget and efficiency: the whole interval of a metric against the limit that the experiment sets."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.spec.experiment import Gates, Scaling
from tests.verdict.making import change, estimate, gate, good, judged, pick

pytestmark = pytest.mark.slow


# ---- deadline ----


def test_without_a_deadline_there_is_no_gate() -> None:
    assert all(result.gate != "deadline" for result in judged(good()).verdict.gates)


@pytest.mark.parametrize(
    ("deadline", "one", "two"), [(21.0, "PASS", "PASS"), (20.0, "INCONCLUSIVE", "PASS"), (15.0, "FAIL", "PASS"), (13.0, "FAIL", "FAIL")]
)
def test_a_run_must_end_before_the_deadline(deadline: float, one: str, two: str) -> None:
    """Runs take 20 s and 20/sqrt(2) = 14.14 s, give or take one per cent."""
    judgement = judged(good(gates=Gates(deadline_s=deadline)))
    assert (gate(judgement, "deadline", 1).status, gate(judgement, "deadline", 2).status) == (one, two)


def test_the_base_is_held_to_the_deadline_like_any_other() -> None:
    judgement = judged(good(gates=Gates(deadline_s=15.0)))
    base = judgement.verdict.dimensions["workers=1"]["performance"]
    assert base.status == "FAIL"
    assert "misses the gate of at most 15 s" in base.sentence
    assert judgement.verdict.recommendations[0].configuration == "workers=2"


def test_the_largest_under_the_deadline_is_picked_and_none_where_none_is() -> None:
    assert pick(judged(good(gates=Gates(deadline_s=15.0))), "under deadline") == "workers=2"
    nobody = judged(good(gates=Gates(deadline_s=13.0)))
    assert pick(nobody, "under deadline") is None
    assert nobody.verdict.status == "FAIL"  # every configuration certainly misses what was asked


# ---- budget ----


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


# ---- efficiency ----


@pytest.mark.parametrize(("efficiency", "status"), [(0.9, "PASS"), (0.5, "FAIL"), (0.7, "INCONCLUSIVE")])
def test_two_workers_are_held_to_the_threshold(efficiency: float, status: str) -> None:
    """The record's luck is at most 1 %: 0.7 give or take that straddles the default threshold of 0.7."""
    judgement = judged(good(efficiency={2: efficiency}))
    assert estimate(judgement, "efficiency", 2).value == pytest.approx(efficiency, rel=1e-3)
    assert gate(judgement, "efficiency", 2).status == status


def test_the_base_meets_it_by_definition() -> None:
    assert gate(judged(good(efficiency={2: 0.1})), "efficiency", 1).status == "PASS"


def test_no_threshold_no_gate() -> None:
    judgement = judged(good(efficiency={2: 0.6}, gates=Gates(efficiency=None)))  # a gain of a fifth
    assert all(result.gate != "efficiency" for result in judgement.verdict.gates)
    assert judgement.verdict.recommendations[0].configuration == "workers=2"


def test_fewer_than_three_launches_are_inconclusive() -> None:
    assert gate(judged(good(blocks=2)), "efficiency", 2).status == "INCONCLUSIVE"


def test_a_base_of_two_workers_halves_the_count() -> None:
    """4 workers, 1.8 times as fast as 2: 1.8 x 2/4 = 0.9."""
    judgement = judged(good(levels=(2, 4)))
    assert estimate(judgement, "speedup", 4).value == pytest.approx(1.8, rel=1e-3)
    assert estimate(judgement, "efficiency", 4).value == pytest.approx(0.9, rel=1e-3)
    assert gate(judgement, "efficiency", 4).status == "PASS"


@pytest.mark.parametrize("basis", ["steps with items", "steps without items", "wall"])
def test_weak_scaling_is_efficient_where_the_time_stays_the_same(basis: str) -> None:
    """Twice the work in the time T(1)/0.9: METRICS' weak E = T(1)/T(p) = 0.9, whatever the script counts."""
    made = good(scaling=Scaling(mode="weak"), efficiency={2: 0.45}, leave_out=("samples",))
    change(made, "steps", 12, 8.0 if basis == "steps with items" else None)
    if basis == "wall":
        made.rows["steps"] = []
        ends = {row[0]: row[9] + round((20.0 if row[4] == 1 else 20.0 / 0.9) * 1e9) for row in made.rows["launches"]}
        change(made, "launches", 10, lambda row: ends[row[0]])
    judgement = judged(made)
    assert estimate(judgement, "efficiency", 2).value == pytest.approx(0.9, rel=2e-3)
    assert estimate(judgement, "speedup", 2).value == pytest.approx(1.8, rel=2e-3)


@pytest.mark.parametrize(("floor", "status"), [(0.05, "PASS"), (0.2, "INCONCLUSIVE")])
def test_an_efficiency_that_is_closer_than_the_noise_floor_is_not_decided(floor: float, status: str) -> None:
    """0.8 is above 0.7 by 14 %: more than a floor of 5 %, less than one of 20 %."""
    made = good(efficiency={2: 0.8})
    made.manifest["environment"]["before"]["doctor"] = {"noise_floor": floor}
    result = gate(judged(made), "efficiency", 2)
    assert result.status == status
    assert ("noise floor of this machine, 20 %" in result.sentence) == (status == "INCONCLUSIVE")
