"""samples_lost: exact integers from the ledger of all ranks."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.samples_lost import METRIC
from tests.handmade import Handmade


def test_the_worst_epoch_is_counted_over_all_ranks() -> None:
    """Six samples; epoch 0 is right, epoch 1 uses 3 twice and neither 4 nor 5."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.fingerprint(number, "dataset_size", 6)
    for epoch, (first, second) in enumerate((([0, 1, 2], [3, 4, 5]), ([0, 1, 3], [3, 2]))):
        made.samples(number, first, rank=0, epoch=epoch, step=epoch)
        made.samples(number, second, rank=1, epoch=epoch, step=epoch)
    made.samples(number, [0, 1, 2, 3, 4, 5], rank=0, epoch=2, step=2)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == (2.0, 2.0, 2.0)


def test_a_step_done_again_after_a_restart_counts_once() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.fingerprint(number, "dataset_size", 4)
    made.samples(number, [0, 1], step=0)
    made.samples(number, [2, 3], step=1)
    made.samples(number, [2, 3], step=1, incarnation=1)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == 0.0


def test_an_epoch_that_the_run_cut_short_is_not_judged() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.fingerprint(number, "dataset_size", 4)
    made.samples(number, [0, 1, 2, 3], epoch=0, step=0)
    made.samples(number, [2], epoch=1, step=1)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == 0.0


def test_without_sample_ids_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
