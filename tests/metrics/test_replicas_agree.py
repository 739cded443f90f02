"""replicas_agree: hashed steps at which all ranks hold the same parameters."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.replicas_agree import METRIC
from tests.handmade import Handmade


def test_the_share_of_agreeing_steps_is_exact_and_one_worker_has_no_replica() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    number = made.launch(workers=2)
    for step, (first, second) in enumerate((("a", "a"), ("b", "b"), ("c", "d"), ("e", "e"))):
        made.fingerprint(number, "parameter_hash", first, rank=0, step=step)
        made.fingerprint(number, "parameter_hash", second, rank=1, step=step)
    values = METRIC.compute(made.measured(), {})
    two = values["workers=2"]
    assert isinstance(two, Estimate)
    assert two.value == two.low == two.high == 0.75
    assert isinstance(values["workers=1"], Absent)


def test_a_step_that_not_all_ranks_hashed_is_not_compared() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "parameter_hash", "a", rank=0, step=0)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_stages_and_parts_are_not_compared_which_says_nothing_of_whether_they_have_replicas() -> None:
    """Two stages of two replicas each, as a pipeline of models in DDP has them."""
    made = Handmade(levels=(4,), blocks=1)
    number = made.launch(workers=4)
    for rank in range(4):
        made.fingerprint(number, "parameter_shard_hash", f"stage {rank % 2}", rank=rank, step=0)
    value = METRIC.compute(made.measured(), {})["workers=4"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"
    assert "stages of a pipeline: neither these are compared, nor the replicas of one of them" in value.detail


def test_a_rank_that_watches_two_models_agrees_if_both_are_equal_on_all_ranks() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        for name in ("generator", "critic") if rank else ("critic", "generator"):
            made.fingerprint(number, "parameter_hash", name, rank=rank, step=0)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == 1.0
