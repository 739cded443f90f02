"""Four dimensions for every configuration, each with a status and a sentence, none ever left out."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Gates, Scaling
from fireassay.verdict.types import DIMENSIONS, DimensionResult
from tests.handmade import Handmade
from tests.metrics.gradients_made import add
from tests.verdict.making import change, gate, good, judged

pytestmark = pytest.mark.slow


def of(made: Handmade, workers: int, dimension: str) -> DimensionResult:
    return judged(made).verdict.dimensions[f"workers={workers}"][dimension]


@pytest.mark.parametrize("made", [good(), Handmade(levels=(1, 2, 8)), good(quality=None)])
def test_every_configuration_has_all_four_dimensions(made: Handmade) -> None:
    vector = judged(made).verdict.dimensions
    assert list(vector) == [f"workers={level}" for level in made.experiment.factor.levels]
    for row in vector.values():
        assert tuple(row) == DIMENSIONS
        assert all(result.sentence for result in row.values())


@pytest.mark.parametrize(("right", "status"), [(36, "PASS"), (10, "FAIL")])
def test_correctness_is_the_quality_gate_s_where_nothing_wrong_was_found(right: int, status: str) -> None:
    made = good(right={2: right})
    assert of(made, 2, "correctness").status == status == gate(judged(made), "quality", 2).status


def test_correctness_fails_with_the_rule_s_name_where_something_wrong_was_found() -> None:
    made = good()
    change(made, "fingerprints", 6, lambda row: f"{row[1]}" if row[4] == "parameter_hash" else row[6], workers=2)
    result = of(made, 2, "correctness")
    assert result.status == "FAIL"
    assert result.sentence.startswith("replica_seed_mismatch: ")
    assert of(made, 1, "correctness").status == "PASS"


def test_correctness_without_quality_is_not_measured_and_says_what_was_checked() -> None:
    result = of(good(quality=None), 2, "correctness")
    assert result.status == "NOT_MEASURED"
    assert result.sentence == ("quality was not measured; every sample used once per epoch, replicas equal at 100 % of the hashed steps")


def test_one_worker_has_no_replicas_to_speak_of() -> None:
    assert "replicas" not in of(good(), 1, "correctness").sentence


def test_performance_is_the_worst_of_its_gates() -> None:
    assert of(good(), 2, "performance").status == "PASS"
    assert of(good(efficiency={2: 0.7}), 2, "performance").status == "INCONCLUSIVE"
    assert of(good(efficiency={2: 0.7}, gates=Gates(deadline_s=1.0)), 2, "performance").status == "FAIL"


def test_performance_without_a_launch_is_not_measured_and_says_why() -> None:
    made = good()
    made.rows["launches"] = [row for row in made.rows["launches"] if row[4] == 1]
    result = of(made, 2, "performance")
    assert result.status == "NOT_MEASURED"
    assert "no timed launch of workers=2 succeeded" in result.sentence


def test_performance_without_a_gate_passes_with_its_speedup() -> None:
    result = of(good(gates=Gates(efficiency=None)), 2, "performance")
    assert result.status == "PASS"
    assert result.sentence.startswith("speedup 1.80")


def test_the_base_without_marked_steps_tells_its_wall_time() -> None:
    made = good(leave_out=("steps",))
    assert of(made, 1, "performance").sentence.startswith("the base: wall time 20.0")


def test_step_times_that_were_asked_for_and_are_not_there_are_not_measured() -> None:
    made = good(leave_out=("steps",), scaling=Scaling(time="step"))
    result = of(made, 1, "performance")
    assert result.status == "NOT_MEASURED"
    assert "mark the steps" in result.sentence


def test_cost_needs_a_price() -> None:
    assert of(good(), 2, "cost").status == "NOT_MEASURED"
    priced = of(good(prices=3.6), 2, "cost")
    assert priced.status == "MEASURED"
    assert priced.sentence.startswith("$0.02828 ")  # 2 x 14.14 s x 0.001
    assert priced.sentence.endswith("energy not measured")


def test_energy_alone_measures_the_dimension() -> None:
    """141 J counted in every launch of two workers."""
    made = good()
    for number, row in enumerate(list(made.rows["launches"])):
        made.reading(number, "rapl:package-0", "energy", 141.0 if row[4] == 2 else 99.0, unit="J")
    result = of(made, 2, "cost")
    assert result.status == "MEASURED"
    assert "141 J a run" in result.sentence


def test_reliability_without_a_fault_launch_is_not_measured_and_says_what_to_add() -> None:
    result = of(good(), 2, "reliability")
    assert result.status == "NOT_MEASURED"
    assert "[[faults]]" in result.sentence


def test_a_gradient_that_was_compared_is_said_beside_the_samples_and_the_replicas() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}])
    add(made, [{"w": [3.0, 4.000001]}] * 2, precision="float32")
    judgement = judged(made)
    assert judgement.verdict.dimensions["workers=2"]["correctness"].sentence.endswith("first gradient within 2.0e-07 of one worker's")
    assert "gradient" not in judgement.verdict.dimensions["workers=1"]["correctness"].sentence
