"""efficiency: S(p) base / p, the whole interval above the threshold."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Gates, Scaling
from tests.verdict.making import change, estimate, gate, good, judged

pytestmark = pytest.mark.slow


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
