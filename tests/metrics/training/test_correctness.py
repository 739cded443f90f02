"""Does distribution compute what one worker computes: losses, replicas, samples?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.correctness import (
    FINAL_LOSS_DIFFERENCE,
    LOSS_DEVIATION,
    REPLICAS_AGREE,
    SAMPLE_WEIGHT_ERROR,
    SAMPLES_DUPLICATED,
    SAMPLES_LOST,
)
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated

# ---- loss_deviation: the first loss against that of the base's launch in the same block.


def test_losses_of_ranks_are_weighted_by_their_items() -> None:
    """Ranks of 6 and 2 items with losses 1 and 3: (6 + 6) / 8 = 1.5 against 1.2 is a quarter more."""
    made = Handmade(levels=(1, 2), blocks=1)
    one, two = made.launch(workers=1), made.launch(workers=2)
    made.steps(one, seconds=[1.0], items=8)
    made.fingerprint(one, "loss", 1.2, step=0)
    for rank, (items, loss) in enumerate(((6, 1.0), (2, 3.0))):
        made.steps(two, rank=rank, seconds=[1.0], items=items)
        made.fingerprint(two, "loss", loss, rank=rank, step=0)
        made.fingerprint(two, "loss", 9.0, rank=rank, step=1)  # later losses are advice only
    values = LOSS_DEVIATION.compute(made.measured(), {})
    assert estimated(values["workers=2"]).value == pytest.approx(0.25)
    assert isinstance(values["workers=1"], Absent)


def test_without_losses_it_is_absent() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=2)
    assert isinstance(LOSS_DEVIATION.compute(made.measured(), {})["workers=2"], Absent)


# ---- final_loss_difference: the last common steps, paired by block.


def made(*, losses: bool = True) -> Handmade:
    """Losses fall from 100 by one a step; two workers lie 0.5 (block 0) and 1.5 (block 1) higher, in the mean of ranks."""
    record = Handmade(levels=(1, 2), blocks=2)
    for block, above in enumerate((0.5, 1.5)):
        one, two = record.launch(workers=1, block=block), record.launch(workers=2, block=block)
        for step in range(20 if losses else 0):
            record.fingerprint(one, "loss", 100.0 - step, step=step)
            for rank, side in enumerate((-1.0, 1.0)):
                record.fingerprint(two, "loss", 100.0 - step + above + side, rank=rank, step=step)
        if losses:
            record.fingerprint(two, "loss", 1e9, rank=0, step=20)  # a step that the base does not have
    return record


def test_the_difference_is_averaged_over_blocks_with_its_interval() -> None:
    values = FINAL_LOSS_DIFFERENCE.compute(made().measured(), {})
    value = estimated(values["workers=2"])
    assert value.value == pytest.approx(1.0)
    assert value.high - value.value == pytest.approx(12.7062047 * 0.5, rel=1e-6)  # t(1 df) x sd 0.7071 / sqrt 2
    assert value.n_trials == 20
    assert isinstance(values["workers=1"], Absent)


def test_without_losses_it_is_absent_final_loss_difference() -> None:
    assert "probe.log" in absence(FINAL_LOSS_DIFFERENCE.compute(made(losses=False).measured(), {})["workers=2"]).detail


def test_a_loss_that_is_no_number_long_before_the_end_says_nothing_of_the_last_ones() -> None:
    record = made()
    record.fingerprint(1, "loss", float("nan"), rank=0, step=3)
    assert isinstance(FINAL_LOSS_DIFFERENCE.compute(record.measured(), {})["workers=2"], Estimate)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_training_that_broke_is_not_judged_by_its_losses_before(loss: float) -> None:
    """One of two ranks at the last common step: its launch ended with no number, whatever the nine steps before say."""
    record = made()
    record.fingerprint(1, "loss", loss, rank=1, step=19)
    value = absence(FINAL_LOSS_DIFFERENCE.compute(record.measured(), {})["workers=2"])
    assert (value.reason, "1 of the 20 last common losses are no finite numbers, the first at step 19" in value.detail) == (
        "undefined",
        True,
    )


# ---- replicas_agree: hashed steps at which all ranks hold the same parameters.


def test_the_share_of_agreeing_steps_is_exact_and_one_worker_has_no_replica() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    number = made.launch(workers=2)
    for step, (first, second) in enumerate((("a", "a"), ("b", "b"), ("c", "d"), ("e", "e"))):
        made.fingerprint(number, "parameter_hash", first, rank=0, step=step)
        made.fingerprint(number, "parameter_hash", second, rank=1, step=step)
    values = REPLICAS_AGREE.compute(made.measured(), {})
    two = estimated(values["workers=2"])
    assert two.value == two.low == two.high == 0.75
    assert isinstance(values["workers=1"], Absent)


def test_a_step_that_not_all_ranks_hashed_is_not_compared() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "parameter_hash", "a", rank=0, step=0)
    assert isinstance(REPLICAS_AGREE.compute(made.measured(), {})["workers=2"], Absent)


def test_stages_and_parts_are_not_compared_which_says_nothing_of_whether_they_have_replicas() -> None:
    """Two stages of two replicas each, as a pipeline of models in DDP has them."""
    made = Handmade(levels=(4,), blocks=1)
    number = made.launch(workers=4)
    for rank in range(4):
        made.fingerprint(number, "parameter_shard_hash", f"stage {rank % 2}", rank=rank, step=0)
    value = absence(REPLICAS_AGREE.compute(made.measured(), {})["workers=4"])
    assert value.reason == "not_applicable"
    assert "stages of a pipeline: neither they nor the replicas of one part are compared" in value.detail


def test_a_rank_that_watches_two_models_agrees_if_both_are_equal_on_all_ranks() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        for name in ("generator", "critic") if rank else ("critic", "generator"):
            made.fingerprint(number, "parameter_hash", name, rank=rank, step=0)
    assert estimated(REPLICAS_AGREE.compute(made.measured(), {})["workers=2"]).value == 1.0


# ---- samples_lost: exact integers from the ledger of all ranks.


def test_the_worst_epoch_is_counted_over_all_ranks() -> None:
    """Six samples; epoch 0 is right, epoch 1 uses 3 twice and neither 4 nor 5."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "dataset_size", 6)
    for epoch, (first, second) in enumerate((([0, 1, 2], [3, 4, 5]), ([0, 1, 3], [3, 2]))):
        made.samples(number, first, rank=0, epoch=epoch, step=epoch)
        made.samples(number, second, rank=1, epoch=epoch, step=epoch)
    made.samples(number, [0, 1, 2, 3, 4, 5], rank=0, epoch=2, step=2)
    value = estimated(SAMPLES_LOST.compute(made.measured(), {})["workers=2"])
    assert (value.value, value.low, value.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("metric", [SAMPLES_LOST, SAMPLES_DUPLICATED], ids=lambda metric: metric.name)
def test_a_step_done_again_after_a_restart_counts_once(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.fingerprint(number, "dataset_size", 4)
    made.samples(number, [0, 1], step=0)
    made.samples(number, [2, 3], step=1)
    made.samples(number, [2, 3], step=1, incarnation=1)
    assert estimated(metric.compute(made.measured(), {})["workers=1"]).value == 0.0


@pytest.mark.parametrize("metric", [SAMPLES_LOST, SAMPLES_DUPLICATED], ids=lambda metric: metric.name)
def test_an_epoch_that_the_run_cut_short_is_not_judged(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.fingerprint(number, "dataset_size", 4)
    made.samples(number, [0, 1, 2, 3], epoch=0, step=0)
    made.samples(number, [2], epoch=1, step=1)
    assert estimated(metric.compute(made.measured(), {})["workers=1"]).value == 0.0


@pytest.mark.parametrize("metric", [SAMPLES_LOST, SAMPLES_DUPLICATED], ids=lambda metric: metric.name)
def test_without_sample_ids_it_is_absent(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(metric.compute(made.measured(), {})["workers=1"], Absent)


# ---- samples_duplicated: exact integers from the ledger of all ranks.


def test_the_worst_epoch_is_counted_over_all_ranks_samples_duplicated() -> None:
    """Six samples; epoch 0 is right, epoch 1 uses 3 twice and neither 4 nor 5."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "dataset_size", 6)
    for epoch, (first, second) in enumerate((([0, 1, 2], [3, 4, 5]), ([0, 1, 3], [3, 2]))):
        made.samples(number, first, rank=0, epoch=epoch, step=epoch)
        made.samples(number, second, rank=1, epoch=epoch, step=epoch)
    made.samples(number, [0, 1, 2, 3, 4, 5], rank=0, epoch=2, step=2)
    value = estimated(SAMPLES_DUPLICATED.compute(made.measured(), {})["workers=2"])
    assert (value.value, value.low, value.high) == (1.0, 1.0, 1.0)


# ---- sample_weight_error: |N / (W d) - 1| of told denominators, exactly.


def value(shares: Sequence[int], denominators: Sequence[float], *, items: bool) -> float:
    made = Handmade(levels=(len(shares),), blocks=1)
    number = made.launch(workers=len(shares))
    first = 0
    for rank, (share, denominator) in enumerate(zip(shares, denominators, strict=True)):
        made.steps(number, rank=rank, seconds=[1.0], items=float(share) if items else None)
        if not items:
            made.samples(number, range(first, first + share), rank=rank)
        first += share
        made.fingerprint(number, "denominator", denominator, rank=rank)
    found = estimated(SAMPLE_WEIGHT_ERROR.compute(made.measured(), {})[f"workers={len(shares)}"])
    assert found.low == found.value == found.high
    return found.value


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize(
    ("shares", "largest"),
    [
        ((16, 15, 15, 15), 4.7e-2),  # N = 61: 1 - 61/64, of the small ones 61/60 - 1
        ((251, 250, 250, 250), 3.0e-3),  # N = 1001
        ((1025, 1024, 1024, 1024), 7.3e-4),  # N = 4097
    ],
)
def test_a_mean_of_means_is_off_by_the_published_amounts(shares: Sequence[int], largest: float, items: bool) -> None:
    assert value(shares, shares, items=items) == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize("shares", [(21, 20, 20), (29, 16, 10, 6), (31, 30), (60, 1), (7, 0)])
def test_the_right_denominator_is_off_by_nothing(shares: Sequence[int]) -> None:
    assert value(shares, [sum(shares) / len(shares)] * len(shares), items=True) == 0.0


def test_a_loss_that_is_summed_is_off_by_a_factor() -> None:
    assert value((30, 31), (1.0, 1.0), items=True) == 61 / 2 - 1


def test_ranks_without_samples_that_divide_by_nothing_weigh_nothing() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0], items=0.0)
        made.fingerprint(number, "denominator", 0.0, rank=rank)
    assert isinstance(SAMPLE_WEIGHT_ERROR.compute(made.measured(), {})["workers=2"], Absent)


def test_untold_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, seconds=[1.0], items=8)
    assert "probe.log(denominator=...)" in absence(SAMPLE_WEIGHT_ERROR.compute(made.measured(), {})["workers=2"]).detail
