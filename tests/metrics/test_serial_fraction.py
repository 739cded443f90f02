"""serial_fraction: Amdahl's law by least squares, block by block."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import serial_fraction, speedup
from assay.metrics.base import ALL
from assay.spec.experiment import Scaling
from tests.handmade import Handmade

REFERENCE = {1: 3600.0, 2: 1880.0, 4: 1010.0, 8: 560.0, 16: 340.0, 32: 250.0}  # METRICS.md


def fitted(made: Handmade) -> object:
    measured = made.measured()
    return serial_fraction.METRIC.compute(measured, {"speedup": speedup.METRIC.compute(measured, {})})[ALL]


def test_the_reference_table_gives_its_documented_fraction() -> None:
    made = Handmade(levels=tuple(REFERENCE), blocks=1)
    for workers, seconds in REFERENCE.items():
        made.launch(workers=workers, wall_s=seconds)
    value = fitted(made)
    assert isinstance(value, Estimate)
    assert round(value.value, 4) == 0.0376
    assert math.isinf(value.high)  # one block has no spread


def test_perfect_amdahl_data_give_the_fraction_back_in_every_block() -> None:
    made = Handmade(levels=(1, 2, 4), blocks=3)
    for block in range(3):
        for workers in (1, 2, 4):
            made.launch(workers=workers, block=block, wall_s=(1 + block) * (0.2 + 0.8 / workers))
    value = fitted(made)
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize(
    "made",
    [
        Handmade(levels=(2, 4), scaling=Scaling(base=2)),
        Handmade(levels=(1, 2), scaling=Scaling(mode="weak")),
        Handmade(levels=(1,)),
        Handmade(levels=(1, 2)),
    ],
)
def test_what_amdahl_cannot_describe_is_absent(made: Handmade) -> None:
    assert isinstance(fitted(made), Absent)


def test_a_block_whose_speedup_is_no_number_is_left_out_of_the_fit() -> None:
    made = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        for workers in (1, 2):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                almost_none = 2e-309 if (workers, block) == (2, 0) else 1.0  # a second each: beyond what a float holds
                made.steps(number, rank=rank, seconds=[1.0] * 40, items=almost_none)
    value = fitted(made)
    assert isinstance(value, Estimate)
    assert len(value.launch_values) == 1
