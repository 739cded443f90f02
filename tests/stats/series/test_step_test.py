"""Does one analysis of a stretch see a step where it is, and nothing where one or two wild values are?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.stats.series.step_test import Noise, placed, strongest, supported, variance_of_difference

WAVE = np.array([0.0, 1.0, -0.5, 0.5, -1.0, 0.25, -0.25, 0.75, -0.75, 0.1])


@pytest.mark.parametrize(("phi", "before", "n"), [(0.0, 3, 10), (0.5, 1, 2), (0.3, 7, 10), (0.9, 20, 50), (0.6, 4, 9)])
def test_the_variance_of_a_difference_of_means_is_that_of_the_covariance_matrix(phi: float, before: int, n: int) -> None:
    i = np.arange(n)
    covariance = phi ** np.abs(i[:, None] - i[None, :])
    weights = np.where(i < before, -1.0 / before, 1.0 / (n - before))
    expected = float(weights @ covariance @ weights)
    assert float(variance_of_difference(phi, np.array([before]), n)[0]) == pytest.approx(expected)


def test_a_step_is_seen_where_it_is_and_its_strength_does_not_depend_on_unit_or_direction() -> None:
    values = np.concatenate([WAVE, WAVE, 6.0 + WAVE])
    seen = strongest(values)
    assert seen.place == 20
    for other in (1e-6 * values + 1.0, 1e9 * values, -values):
        assert strongest(other).z == pytest.approx(seen.z, rel=1e-6)
        assert strongest(other).place == 20
    assert strongest(values[::-1]).place == 10


def test_values_that_do_not_vary_hold_no_step() -> None:
    assert strongest(np.full(12, 7.0)).z == 0.0


def test_values_that_lie_exactly_on_two_levels_are_a_step_without_any_doubt() -> None:
    seen = strongest(np.r_[np.full(6, 1.0), np.full(6, 2.0)])
    assert (seen.place, seen.z) == (6, math.inf)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 39), height=st.floats(5.0, 1e6), up=st.booleans(), pair=st.booleans())
def test_one_wild_value_or_two_are_no_step_however_wild(at: int, height: float, up: bool, pair: bool) -> None:
    values = np.tile(WAVE, 4)
    values[at : at + (2 if pair else 1)] += height if up else -height
    seen = strongest(values)
    place = placed(values, seen.place)[0]
    assert seen.z < 4.3 or not supported(values, place)  # B(40) = 4.75 - 13/40 = 4.425


def test_three_values_of_a_large_step_are_enough() -> None:
    assert strongest(np.r_[WAVE, WAVE, 20.0 + WAVE[:3]]).z > 4.75


def test_two_wild_values_and_an_ordinary_one_do_not_support_a_step() -> None:
    assert not supported(np.r_[WAVE, 9.0, 8.0, 0.3], 10)
    assert supported(np.r_[WAVE, 9.0, 8.0, 7.0], 10)


def test_an_outlier_before_a_step_does_not_attract_its_place() -> None:
    values = np.concatenate([WAVE, WAVE, 4.0 + WAVE])
    values[16] = 40.0
    place, earliest, latest = placed(values, 16)
    assert place == 20
    assert earliest <= 20 <= latest


def test_autocorrelated_values_count_for_less() -> None:
    # the same values in runs: a step of the same size is worth less among them
    alternating, runs = np.tile([1.0, -1.0], 12), np.repeat([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 4)
    step = np.where(np.arange(24) < 12, 0.0, 3.0)
    assert strongest(runs + step).phi > strongest(alternating + step).phi
    assert strongest(runs + step).z < strongest(alternating + step).z


def test_the_autocorrelation_moves_the_strength_smoothly() -> None:
    # no switch: z as the noise is blended from alternating to runs has no jump
    alternating, runs = np.tile([1.0, -1.0], 12), np.repeat([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 4)
    step = np.where(np.arange(24) < 12, 0.0, 3.0)
    z = [strongest(np.sqrt(1 - x) * alternating + np.sqrt(x) * runs + step).z for x in np.linspace(0.0, 1.0, 400)]
    assert float(np.abs(np.diff(z)).max()) < 0.15 * (max(z) - min(z))


def test_earlier_stretches_determine_the_noise_of_a_short_one() -> None:
    short = np.array([0.0, 0.1, -0.1, 3.0, 3.1, 2.9])
    quiet, loud = Noise().with_level(0.1 * np.tile(WAVE, 3)), Noise().with_level(10.0 * np.tile(WAVE, 3))
    assert strongest(short, quiet).z > strongest(short, loud).z
