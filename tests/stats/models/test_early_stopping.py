"""Are LoadGen's numbers reproduced?  Expected values: from loadgen's source and the MLPerf endpoints document."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fireassay.stats.models.queueing import dropped, early_stopping_estimate, floor, least_passes


@pytest.mark.parametrize(("over", "passes"), [(0, 459), (1, 661), (2, 836), (5, 1302), (10, 2000), (100, 12_471)])
def test_queries_over_the_bound_need_the_published_number_of_passes(over: int, passes: int) -> None:
    assert least_passes(over, 0.99) == passes


def test_a_pass_less_would_leave_more_than_one_percent_of_doubt() -> None:
    """P(at most 10 of 2010 over) at the true rate of 1 %, summed by the binomial distribution of h + t queries."""
    assert stats.binom.cdf(10, 2010, 0.01) < 0.01 <= stats.binom.cdf(10, 2009, 0.01)


def test_a_hundred_thousand_late_queries_have_a_number_too() -> None:
    """A published run (MLPerf Inference 5.1, dlrm-v2 Server): 106,768 late of 11,223,644, which LoadGen accepts."""
    needed = least_passes(106_768, 0.99) + 106_768
    assert needed < 11_223_644
    assert stats.binom.cdf(106_768, needed, 0.01) < 0.01 <= stats.binom.cdf(106_768, needed - 1, 0.01)


@pytest.mark.parametrize(("p", "least"), [(0.50, 11), (0.90, 64), (0.95, 130), (0.99, 662), (0.999, 6636)])
def test_below_the_floor_there_is_no_estimate(p: float, least: int) -> None:
    assert floor(p) == least
    assert early_stopping_estimate(np.arange(float(least - 1)), p) is None
    assert early_stopping_estimate(np.arange(float(least)), p) == least - 1  # the highest


def test_the_77th_highest_of_ten_thousand_estimates_p99() -> None:
    assert dropped(10_000, 0.99) == 77
    shuffled = np.random.default_rng(1).permutation(10_000) + 1.0
    assert early_stopping_estimate(shuffled, 0.99) == 10_001 - 77


def test_it_is_one_order_statistic_above_the_exact_bound() -> None:
    bound = stats.quantile_test(np.arange(1.0, 10_001), q=0, p=0.99, alternative="less").confidence_interval(0.99).high
    assert bound == 9923
    assert early_stopping_estimate(np.arange(1.0, 10_001), 0.99) == 9924


def test_an_invalid_percentile_or_list_is_refused() -> None:
    for call in (
        lambda: least_passes(-1, 0.99),
        lambda: least_passes(1, 1.0),
        lambda: floor(0.0),
        lambda: floor(0.99, 1.0),
        lambda: early_stopping_estimate([1.0, float("nan")], 0.5),
    ):
        with pytest.raises(ValueError, match="not|beyond"):
            call()
