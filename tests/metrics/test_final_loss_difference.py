"""final_loss_difference: the last common steps, paired by block."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.final_loss_difference import METRIC
from tests.handmade import Handmade


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
    values = METRIC.compute(made().measured(), {})
    value = values["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.0)
    assert value.high - value.value == pytest.approx(12.7062047 * 0.5, rel=1e-6)  # t(1 df) x sd 0.7071 / sqrt 2
    assert value.n_trials == 20
    assert isinstance(values["workers=1"], Absent)


def test_without_losses_it_is_absent() -> None:
    value = METRIC.compute(made(losses=False).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert "probe.log" in value.detail


def test_a_loss_that_is_no_number_long_before_the_end_says_nothing_of_the_last_ones() -> None:
    record = made()
    record.fingerprint(1, "loss", float("nan"), rank=0, step=3)
    assert isinstance(METRIC.compute(record.measured(), {})["workers=2"], Estimate)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_training_that_broke_is_not_judged_by_its_losses_before(loss: float) -> None:
    """One of two ranks at the last common step: its launch ended with no number, whatever the nine steps before say."""
    record = made()
    record.fingerprint(1, "loss", loss, rank=1, step=19)
    value = METRIC.compute(record.measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert (value.reason, "1 of the 20 last common losses are no finite numbers, the first at step 19" in value.detail) == (
        "undefined",
        True,
    )
