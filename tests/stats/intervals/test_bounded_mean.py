"""Are the bounds of a bounded mean Clopper and Pearson's where they must be, Gaffke's elsewhere, and honest for clusters?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fireassay.stats.intervals.bounded_mean import Units, extrapolated, lower, upper

Array = NDArray[np.float64]


def alone(values: object) -> Units:
    totals = np.asarray(values, dtype=np.float64)
    return Units(totals=totals, sizes=np.ones(len(totals)))


def drawn(units: Units, least: float, alpha: float) -> float:
    """Gaffke's bound by drawing Dirichlet weights, 30,000 times: what the formula must give."""
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=(30_000, len(units.totals) + 1))
    largest = units.sizes.max()
    means = (weights[:, :-1] @ units.totals + weights[:, -1] * least * largest) / (weights[:, :-1] @ units.sizes + weights[:, -1] * largest)
    return float(np.quantile(means, alpha))


def test_none_of_three_right_leaves_71_per_cent() -> None:
    """Clopper and Pearson, two-sided 95 %: 1 - 0.025^(1/3) = 0.7076."""
    assert round(upper(alone([0, 0, 0]), 1.0, 0.975), 4) == 0.7076
    assert lower(alone([0, 0, 0]), 0.0, 0.975) == 0.0


@pytest.mark.parametrize(("right", "n"), [(1, 3), (7, 10), (50, 100), (299, 300), (3, 3)])
def test_binary_answers_give_clopper_and_pearsons_bound(right: int, n: int) -> None:
    exact = stats.binomtest(right, n).proportion_ci(0.95, method="exact")
    units = alone([1] * right + [0] * (n - right))
    assert (lower(units, 0.0, 0.975), upper(units, 1.0, 0.975)) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_values_that_do_not_differ_are_bounded_by_what_n_of_them_can_miss() -> None:
    assert lower(alone([0.0] * 299), -1.0, 0.95) == pytest.approx(-(1 - 0.05 ** (1 / 299)))
    assert lower(alone([0.2] * 10), -1.0, 0.95) == pytest.approx(0.2 - 1.2 * (1 - 0.05 ** (1 / 10)))


@pytest.mark.parametrize("n", [5, 40, 200])
def test_graded_values_give_the_quantile_of_dirichlet_weights(n: int) -> None:
    units = alone(np.random.default_rng(n).beta(2, 1, n) - 0.5)
    width = units.mean - lower(units, -1.0, 0.95)
    assert lower(units, -1.0, 0.95) == pytest.approx(drawn(units, -1.0, 0.05), abs=0.03 * width)


def test_unequal_clusters_are_weighed_by_their_items() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 30, 40).astype(np.float64)
    units = Units(totals=-rng.binomial(sizes.astype(int), 0.1).astype(np.float64), sizes=sizes)
    assert units.mean == pytest.approx(units.totals.sum() / sizes.sum())
    assert lower(units, -1.0, 0.95) == pytest.approx(drawn(units, -1.0, 0.05), abs=0.005)


def test_copies_of_an_item_in_its_cluster_add_nothing() -> None:
    values = np.random.default_rng(4).normal(0, 0.1, 60)
    copied = Units(totals=10 * values, sizes=np.full(60, 10.0))
    assert lower(copied, -1.0, 0.95) == pytest.approx(lower(alone(values), -1.0, 0.95), abs=1e-8)


def test_many_even_values_approach_students_t() -> None:
    values = np.random.default_rng(5).normal(0.0, 0.1, 5000)
    low = stats.ttest_1samp(values, 0.0, alternative="greater").confidence_interval(0.95).low
    assert lower(alone(values), -1.0, 0.95) == pytest.approx(low, abs=0.3 * (values.mean() - low))


def test_the_two_sides_mirror_each_other() -> None:
    values = np.random.default_rng(6).uniform(-0.3, 0.5, 30)
    assert lower(alone(values), -1.0, 0.95) == -upper(alone(-values), 1.0, 0.95)


SIZES = st.sampled_from([0.0, 5e-324, 1e-320, 1e-311, 1e-300, 1e-160, 1e-100, 1e-16, 1e-3, 0.5, 1.0]) | st.floats(0.0, 1.0)


@given(st.lists(st.tuples(SIZES, st.sampled_from([-1.0, 1.0])), min_size=1, max_size=8), SIZES | st.just(-1.0))
@example([(0.0, 1.0), (1e-311, 1.0), (2e-311, 1.0)], 0.0)  # the reciprocal of a weight overflowed
@example([(1e-320, 1.0), (2e-320, 1.0), (5e-324, 1.0)], 0.0)
@example([(1.0, 1.0), (1e-311, 1.0)], 1e-311)
@pytest.mark.filterwarnings("error")
def test_values_of_any_size_have_a_bound_between_the_least_and_the_mean(signed: list[tuple[float, float]], below: float) -> None:
    values = np.array([size * sign for size, sign in signed])
    least = -1.0 if below < 0.0 else float(values.min()) - below
    bound, mean = lower(alone(values), least, 0.95), alone(values).mean
    assert least <= bound
    assert bound <= mean or math.isclose(bound, mean, rel_tol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-300, 2.0**900, 1e-290, 1e300])
def test_the_bound_of_scaled_values_is_the_scaled_bound(scale: float) -> None:
    values = np.random.default_rng(8).uniform(0.0, 1.0, 30)
    wanted = lower(alone(values), -1.0, 0.95)
    assert lower(alone(scale * values), -scale, 0.95) == pytest.approx(scale * wanted, rel=1e-9)


def test_a_value_without_a_least_one_has_no_bound() -> None:
    assert lower(alone([0.1, 0.2]), -math.inf, 0.95) == -math.inf
    assert lower(alone([0.0, 0.0]), 0.0, 0.95) == 0.0


def test_an_exponential_tail_is_extrapolated_by_hills_index() -> None:
    """e^4, e^3, e^2, e and 1 beside six zeros, k = 3: the index is (3 + 2 + 1)/3 = 2, which has no mean; of a quarter of the exponents 0.5.

    Three values are few: half as far again.
    """
    tail, zeros = np.array([4.0, 3.0, 2.0, 1.0, 0.0]), np.zeros(6)
    assert extrapolated(np.append(np.exp(tail), zeros)) == math.inf
    assert extrapolated(np.append(np.exp(tail / 4), zeros)) == pytest.approx(1.5 * math.e * math.log(100) ** 0.5)
    shifted = np.append(np.exp(tail / 4), zeros) + 5.0  # a tail is one round the median
    assert extrapolated(shifted) == pytest.approx(5.0 + 1.5 * math.e * math.log(100) ** 0.5)


def test_few_values_are_not_extrapolated() -> None:
    assert extrapolated(np.array([0.0, 2.0, 0.0, 0.0, -3.0])) == 3.0
    assert extrapolated(np.zeros(4)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["exponential", "lognormal"])
def test_a_mean_below_the_bound_is_claimed_in_at_most_one_case_in_twenty(shape: str) -> None:
    """Skewed losses of 60 items, 400 sets; Student's t claims it in 8 to 13 % of them."""
    rng = np.random.default_rng(7)
    draws = [rng.exponential(1.0, 60) if shape == "exponential" else rng.lognormal(-0.5, 1.0, 60) for _ in range(400)]
    wrong = sum(upper(alone(losses), extrapolated(losses), 0.95) < 1.0 for losses in draws)
    assert wrong / 400 <= 0.05
