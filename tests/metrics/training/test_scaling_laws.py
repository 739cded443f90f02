"""Which law explains the scaling?"""

from __future__ import annotations

import math

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.training.scaling import HELD_OUT_ERROR, SCALED_SPEEDUP, USL_COHERENCY, USL_CONTENTION, USL_PEAK
from fireassay.spec.experiment import Scaling
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.metrics.scaling_records import only, usl_record

# ---- usl_contention: alpha of the Universal Scalability Law from the launches.


def test_times_made_by_the_law_give_its_contention_back_whatever_the_blocks_level() -> None:
    exact = estimated(only(USL_CONTENTION, usl_record((1, 2, 4, 8), alpha=0.05, beta=0.01, luck=(1.0,))))
    # block 1 took twice and block 2 three times as long throughout: that is no scatter
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.05, 0.05, 0.05), abs=1e-6)
    assert (exact.n_launches, exact.n_trials) == (3, 12)


def test_scatter_between_the_launches_is_in_the_interval_and_the_scores_in_the_method() -> None:
    found = estimated(only(USL_CONTENTION, usl_record((1, 2, 4, 8, 16, 32), alpha=0.05, beta=0.01)))
    assert found.low < 0.05 < found.high
    assert 0.0005 < found.high - found.low < 0.005  # launches scatter by 0.2 %
    # 18 launches, 3 parameters and 2 levels of the other blocks
    assert "Student t with 13 degrees of freedom; preferred: the Universal Scalability Law, by AICc" in found.method
    assert "|preferred:usl|" in found.signature


def test_one_block_bounds_nothing() -> None:
    found = estimated(only(USL_CONTENTION, usl_record((1, 2, 4, 8, 16), alpha=0.05, beta=0.01, blocks=1)))
    assert math.isinf(found.low)
    assert math.isinf(found.high)


def test_three_worker_counts_cannot_check_three_parameters() -> None:
    found = absence(only(USL_CONTENTION, usl_record((1, 2, 4), alpha=0.05, beta=0.0)))
    assert "at least 4 worker counts can check it, not 3" in found.detail


# ---- usl_coherency: beta of the Universal Scalability Law, 0 where the data show no such cost.


def test_times_made_by_the_law_give_its_coherency_back() -> None:
    found = estimated(only(USL_COHERENCY, usl_record((1, 2, 4, 8), alpha=0.05, beta=0.01, luck=(1.0,))))
    assert found.value == pytest.approx(0.01, abs=1e-9)


@pytest.mark.slow
def test_a_coherency_on_its_bound_has_an_upper_end_and_no_standard_error() -> None:
    # the largest count is faster than the law without coherency says, so beta would like to be negative
    found = estimated(only(USL_COHERENCY, usl_record((1, 2, 4, 8), alpha=0.1, beta=-0.0005)))
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0.0 < found.high < 0.001
    assert "on its bound 0, so it has no standard error" in found.method


def test_no_whole_block_no_fit() -> None:
    assert isinstance(only(USL_COHERENCY, Handmade(levels=(1, 2, 4, 8)).measured()), Absent)


# ---- usl_peak: the worker count of the highest throughput, named only where it was passed.


def test_a_peak_that_was_passed_is_where_the_law_turns() -> None:
    found = estimated(only(USL_PEAK, usl_record((1, 2, 4, 8, 16, 32), alpha=0.05, beta=0.01)))
    assert found.value == pytest.approx(math.sqrt(0.95 / 0.01), rel=1e-3)  # 9.747: 16 and 32 lie beyond
    assert found.low < 9.7468 < found.high
    assert "2 measured worker counts lie beyond it, and throughput at 32 is lower than at 8" in found.method


@pytest.mark.parametrize(
    ("levels", "alpha", "beta", "blocks", "reason", "sentence"),
    [
        ((1, 2, 4, 8), 0.05, 0.01, 3, "refused", "no peak up to N = 8: fewer than 2 measured"),
        ((1, 2, 4, 8), 0.1, -0.0005, 3, "undefined", "no peak up to N = 8: the fitted curve does not turn"),
        ((1, 2, 4, 8, 16, 32), 0.05, 0.01, 1, "refused", "one launch for each worker count cannot show"),
        ((1, 2, 4), 0.05, 0.01, 3, "insufficient", "at least 4 worker counts"),
    ],
)
def test_a_peak_that_the_data_do_not_show_is_absent_with_the_reason(
    levels: tuple[int, ...], alpha: float, beta: float, blocks: int, reason: str, sentence: str
) -> None:
    found = absence(only(USL_PEAK, usl_record(levels, alpha=alpha, beta=beta, blocks=blocks)))
    assert found.reason == reason
    assert sentence in found.detail


def test_a_fall_within_the_scatter_is_no_peak() -> None:
    # at 8 and 9 workers the law has fallen by 2 % at most, and launches scatter by 10 %
    assert absence(only(USL_PEAK, usl_record((1, 2, 4, 6, 8, 9), alpha=0.05, beta=0.02, luck=(0.9, 1.0, 1.1)))).reason == "refused"


# ---- scaled_speedup: Gustafson's law, for weak scaling only.


@pytest.mark.slow
def test_gustafsons_law_gives_its_speedup_back() -> None:
    made = Handmade(levels=(1, 2, 4, 8), blocks=2, scaling=Scaling(mode="weak"))
    for block in range(2):
        for p in (1, 2, 4, 8):  # p times the work at a rate of p - 0.1 (p - 1)
            made.launch(workers=p, block=block, wall_s=(1 + block) * 100.0 * p / (p - 0.1 * (p - 1)))
    found = estimated(only(SCALED_SPEEDUP, made.measured()))
    assert found.value == pytest.approx(8 - 0.1 * 7)
    assert (found.low, found.high) == pytest.approx((7.3, 7.3), abs=1e-6)
    assert "at p = 8, s = 0.1 of Gustafson's law" in found.method


@pytest.mark.slow
def test_scatter_gives_an_interval_round_the_truth() -> None:
    found = estimated(only(SCALED_SPEEDUP, usl_record((1, 2, 3, 4), alpha=0.0, beta=0.0, mode="weak")))
    assert found.low < 4.0
    assert found.high == pytest.approx(4.0, abs=0.05)  # s is at least 0: no more than linear


@pytest.mark.parametrize("scaling", [Scaling(mode="strong"), Scaling(mode="weak", base=2)])
def test_it_is_for_weak_scaling_from_one_worker(scaling: Scaling) -> None:
    assert absence(only(SCALED_SPEEDUP, Handmade(levels=(2, 4), scaling=scaling).measured())).reason == "not_applicable"


def test_two_launches_carry_no_interval() -> None:
    assert isinstance(only(SCALED_SPEEDUP, usl_record((1, 2), alpha=0.1, beta=0.0, mode="weak", blocks=1)), Absent)


# ---- held_out_error: the largest worker count predicted from the smaller ones.


def test_a_law_that_holds_up_to_the_end_predicts_it() -> None:
    found = estimated(only(HELD_OUT_ERROR, usl_record((1, 2, 4, 8), alpha=0.1, beta=0.0)))
    assert found.value == pytest.approx(0.0, abs=0.005)
    assert found.low < 0.0 < found.high


def test_a_late_effect_is_missed_by_the_fit() -> None:
    made = Handmade(levels=(1, 2, 4, 8), blocks=2)
    for block in range(2):
        for p, seconds in ((1, 100.0), (2, 50.0), (4, 25.0), (8, 25.0)):  # linear up to 4, nothing more at 8
            made.launch(workers=p, block=block, wall_s=seconds * (1 + block))
    found = estimated(only(HELD_OUT_ERROR, made.measured()))
    assert found.value == pytest.approx(1.0)  # 8 times promised, 4 times measured
    assert "at p = 8" in found.method


@pytest.mark.slow
def test_one_block_bounds_nothing_held_out_error() -> None:
    assert math.isinf(estimated(only(HELD_OUT_ERROR, usl_record((1, 2, 4, 8, 16), alpha=0.1, beta=0.0, blocks=1))).high)


def test_three_counts_leave_too_few() -> None:
    found = absence(only(HELD_OUT_ERROR, usl_record((1, 2, 4), alpha=0.1, beta=0.0)))
    assert found.detail == "predicting the largest worker count needs at least 3 smaller ones, not 2"
