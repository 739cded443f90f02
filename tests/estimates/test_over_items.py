"""Does a quantile over items have the interval of its order statistics?"""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.over_items import quantile


def test_the_median_of_ten_by_hand() -> None:
    """Binomial(10, 1/2): P(X <= 1) = 11/1024 = .0107 and P(X <= 2) = .0547, so the 2nd and the 9th value bound the median at 95 %."""
    found = quantile(np.arange(10.0, 0.0, -1.0), 0.5, 0.95, name="time")
    assert isinstance(found, Estimate)
    assert (found.value, found.low, found.high, found.n_trials) == (5.5, 2.0, 9.0, 10)


@pytest.mark.parametrize(("n", "p", "measured"), [(5, 0.5, False), (6, 0.5, True), (71, 0.95, False), (72, 0.95, True)])
def test_the_fewest_items_of_a_percentile(n: int, p: float, measured: bool) -> None:
    """Two-sided at 95 %: n >= ln .025 / ln max(p, 1 - p): 5.3 for the median, 71.9 for p95, whose upper end is the rarer one."""
    found = quantile(np.linspace(1.0, 2.0, n), p, 0.95, name="time")
    assert isinstance(found, Estimate if measured else Absent)


def test_an_unknown_value_is_not_left_out_in_silence() -> None:
    found = quantile(np.array([1.0, np.nan] * 20), 0.5, 0.95, name="time")
    assert found == Absent("not_measured", "time is not known of every one of the items")
    assert isinstance(quantile(np.array([]), 0.5, 0.95, name="time"), Absent)


def test_intervals_of_medians_cover() -> None:
    rng = np.random.default_rng(5)
    found = [quantile(rng.exponential(1.0, 40), 0.5, 0.95, name="time") for _ in range(600)]
    covered = sum(isinstance(one, Estimate) and one.low <= np.log(2.0) <= one.high for one in found)
    assert covered >= 0.95 * 600 - 3.0 * np.sqrt(600 * 0.95 * 0.05)
