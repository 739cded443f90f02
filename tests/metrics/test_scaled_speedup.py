"""scaled_speedup: Gustafson's law, for weak scaling only."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.scaled_speedup import METRIC
from assay.spec.experiment import Scaling
from tests.handmade import Handmade
from tests.metrics.scaling_records import only, usl_record


def test_gustafsons_law_gives_its_speedup_back() -> None:
    made = Handmade(levels=(1, 2, 4, 8), blocks=2, scaling=Scaling(mode="weak"))
    for block in range(2):
        for p in (1, 2, 4, 8):  # p times the work at a rate of p - 0.1 (p - 1)
            made.launch(workers=p, block=block, wall_s=(1 + block) * 100.0 * p / (p - 0.1 * (p - 1)))
    found = only(METRIC, made.measured())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(8 - 0.1 * 7)
    assert (found.low, found.high) == pytest.approx((7.3, 7.3), abs=1e-6)
    assert "at p = 8, s = 0.1 of Gustafson's law" in found.method


def test_scatter_gives_an_interval_round_the_truth() -> None:
    found = only(METRIC, usl_record((1, 2, 3, 4), alpha=0.0, beta=0.0, mode="weak"))
    assert isinstance(found, Estimate)
    assert found.low < 4.0
    assert found.high == pytest.approx(4.0, abs=0.05)  # s is at least 0: no more than linear


@pytest.mark.parametrize("scaling", [Scaling(mode="strong"), Scaling(mode="weak", base=2)])
def test_it_is_for_weak_scaling_from_one_worker(scaling: Scaling) -> None:
    found = only(METRIC, Handmade(levels=(2, 4), scaling=scaling).measured())
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"


def test_two_launches_carry_no_interval() -> None:
    assert isinstance(only(METRIC, usl_record((1, 2), alpha=0.1, beta=0.0, mode="weak", blocks=1)), Absent)
