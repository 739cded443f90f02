"""usl_contention: alpha of the Universal Scalability Law from the launches."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.usl_contention import METRIC
from tests.metrics.scaling_records import only, usl_record


def test_times_made_by_the_law_give_its_contention_back_whatever_the_blocks_level() -> None:
    exact = only(METRIC, usl_record((1, 2, 4, 8), alpha=0.05, beta=0.01, luck=(1.0,)))
    assert isinstance(exact, Estimate)
    # block 1 took twice and block 2 three times as long throughout: that is no scatter
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.05, 0.05, 0.05), abs=1e-6)
    assert (exact.n_launches, exact.n_trials) == (3, 12)


def test_scatter_between_the_launches_is_in_the_interval_and_the_scores_in_the_method() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8, 16, 32), alpha=0.05, beta=0.01))
    assert isinstance(found, Estimate)
    assert found.low < 0.05 < found.high
    assert 0.0005 < found.high - found.low < 0.005  # launches scatter by 0.2 %
    # 18 launches, 3 parameters and 2 levels of the other blocks
    assert "Student t with 13 degrees of freedom; preferred: the Universal Scalability Law, by AICc" in found.method
    assert "|preferred:usl|" in found.signature


def test_one_block_bounds_nothing() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8, 16), alpha=0.05, beta=0.01, blocks=1))
    assert isinstance(found, Estimate)
    assert math.isinf(found.low)
    assert math.isinf(found.high)


def test_three_worker_counts_cannot_check_three_parameters() -> None:
    found = only(METRIC, usl_record((1, 2, 4), alpha=0.05, beta=0.0))
    assert isinstance(found, Absent)
    assert "at least 4 worker counts can check it, not 3" in found.detail
