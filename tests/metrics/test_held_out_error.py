"""held_out_error: the largest worker count predicted from the smaller ones."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.held_out_error import METRIC
from tests.handmade import Handmade
from tests.metrics.scaling_records import only, usl_record


def test_a_law_that_holds_up_to_the_end_predicts_it() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8), alpha=0.1, beta=0.0))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.0, abs=0.005)
    assert found.low < 0.0 < found.high


def test_what_sets_in_only_at_the_end_is_promised_and_not_kept() -> None:
    made = Handmade(levels=(1, 2, 4, 8), blocks=2)
    for block in range(2):
        for p, seconds in ((1, 100.0), (2, 50.0), (4, 25.0), (8, 25.0)):  # linear up to 4, nothing more at 8
            made.launch(workers=p, block=block, wall_s=seconds * (1 + block))
    found = only(METRIC, made.measured())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(1.0)  # 8 times promised, 4 times measured
    assert "at p = 8" in found.method


def test_one_block_bounds_nothing() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8, 16), alpha=0.1, beta=0.0, blocks=1))
    assert isinstance(found, Estimate)
    assert math.isinf(found.high)


def test_three_counts_leave_too_few() -> None:
    found = only(METRIC, usl_record((1, 2, 4), alpha=0.1, beta=0.0))
    assert isinstance(found, Absent)
    assert found.detail == "predicting the largest worker count needs at least 3 smaller ones, not 2"
