"""Are the variance components those of libkalibera's own tests and of a mixed model, and the plans what they promise?"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from fireassay.stats.series.normality import components, optimal_counts

# T3: the worked example of libkalibera's tests, in two and in three levels, and its planning example
THREE = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
TWO = [[9, 5, 8, 3], [10, 6, 7, 11], [1, 12, 2, 4]]
PLANNING = [[[3, 4, 3], [1.2, 3.1, 3]], [[0.2, 1, 1.5], [1, 2, 3]]]


def test_the_planning_example_is_that_of_libkalibera() -> None:
    """Costs 100, 20, 3 s from the top: r_1 = 4.2937 -> 5, r_2 = 1.3023 -> 2."""
    got = components(PLANNING)
    assert got.added == pytest.approx((0.726667, 0.262778, 0.774722), abs=1e-6)
    assert optimal_counts(got, [3, 20, 100]) == (5, 2)


def test_a_level_above_that_adds_nothing_leaves_the_count_to_the_budget() -> None:
    """T_2^2 = -5.67 counts as 0: repeat level 1 as the budget allows, and level 2 once."""
    assert optimal_counts(components(THREE), [1, 10, 100]) == (None, 1)


def test_steps_that_do_not_vary_are_measured_once() -> None:
    got = components([[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]])
    assert optimal_counts(got, [1, 10]) == (1,)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixed_model_by_restricted_likelihood_has_the_same_components(seed: int) -> None:
    """statsmodels MixedLM on balanced two-level data: equal where no component is clipped."""
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(seed)
    data = 10 + rng.normal(0, 1, (12, 1)) + rng.normal(0, 1, (12, 8))
    frame = pd.DataFrame({"y": data.ravel(), "launch": np.repeat(np.arange(12), 8)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixedLM.from_formula("y ~ 1", frame, groups="launch").fit(reml=True)
    got = components(data)
    assert (got.added[0], got.added[1]) == pytest.approx((model.scale, float(model.cov_re.iloc[0, 0])), rel=1e-3)
    assert got.mean == pytest.approx(float(model.params["Intercept"]))


def test_three_levels_are_those_of_libkalibera() -> None:
    got = components(THREE)
    assert got.within == pytest.approx((16.5, 2.58333, 3.5625), abs=1e-5)
    assert got.added == pytest.approx((16.5, -5.66667, 2.27083), abs=1e-5)
    assert got.effective == pytest.approx((16.5, 0.0, 2.27083), abs=1e-5)


def test_two_levels_of_the_same_data_are_those_of_libkalibera() -> None:
    got = components(TWO)
    assert got.within == pytest.approx((12.7222, 3.5625), abs=1e-4)
    assert got.added[1] == pytest.approx(0.381944, abs=1e-6)


def test_bad_input_is_refused_by_name() -> None:
    for bad in ([[1.0]], [], [[1.0, math.nan], [1.0, 2.0]]):
        with pytest.raises(ValueError, match="at least 2 units at every level"):
            components(bad)
    found = components(TWO)
    with pytest.raises(ValueError, match="needs a cost above 0"):
        optimal_counts(found, [1.0])
