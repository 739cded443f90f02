"""Is the line found that the times were made of, whatever the sizes span and however noisy, and refused where there is none?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.models.affine_fit import affine_fit

SIZES = [float(2**k) for k in range(3, 29, 2)]


@given(st.floats(-7, -2), st.floats(-11, -7))
def test_exact_times_give_the_line_back(fixed: float, slope: float) -> None:
    a, b = 10.0**fixed, 10.0**slope
    found = affine_fit(SIZES, [a + b * x for x in SIZES])
    assert found.fixed == pytest.approx(a, rel=1e-6)
    assert found.per_unit == pytest.approx(b, rel=1e-6)
    assert found.spread < 1e-6
    assert found.half == pytest.approx(a / b, rel=1e-5)


def test_noise_of_a_tenth_moves_both_parts_by_less_than_a_tenth() -> None:
    """20 us and 10 Gbit/s; 24 sizes, each timed 5 times: the standard error is some 10 % / sqrt(60)."""
    errors = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        sizes = np.repeat([2.0**k for k in range(5, 29)], 5)
        times = (20e-6 + sizes / 1.25e9) * np.exp(rng.normal(0.0, 0.1, len(sizes)))
        found = affine_fit(sizes, times)
        errors += [abs(found.fixed / 20e-6 - 1), abs(found.per_unit * 1.25e9 - 1)]
        assert found.spread == pytest.approx(0.1, rel=0.25)
    assert max(errors) < 0.1


def test_the_fit_minimises_what_it_says_it_does() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    sizes = np.array(SIZES)
    times = (5e-5 + sizes * 2e-9) * np.exp(rng.normal(0.0, 0.3, len(sizes)))
    found = affine_fit(sizes, times)

    def error(logs: np.ndarray) -> float:
        return float(np.sum((np.log(times) - np.log(np.exp(logs[0]) + np.exp(logs[1]) * sizes)) ** 2))

    best = minimize(error, np.log([1e-4, 1e-9]), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000})
    assert error(np.log([found.fixed, found.per_unit])) <= best.fun * (1 + 1e-9)


@pytest.mark.parametrize("part", ["fixed", "per_unit"])
def test_a_part_that_is_not_there_becomes_next_to_nothing(part: str) -> None:
    times = [x * 1e-9 for x in SIZES] if part == "fixed" else [1e-4] * len(SIZES)
    found = affine_fit(SIZES, times)
    assert found.at(SIZES[0]) == pytest.approx(times[0], rel=1e-3)
    assert found.at(SIZES[-1]) == pytest.approx(times[-1], rel=1e-3)


@pytest.mark.parametrize(
    ("sizes", "times", "why"),
    [
        ([1.0, 2.0], [1.0, 2.0], "at least 3 sizes"),
        ([1.0, 1.0, 2.0], [1.0, 1.0, 2.0], "at least 3 sizes"),
        ([1.0, 2.0, 3.0], [1.0, 0.0, 2.0], "above 0"),
        ([1.0, 2.0, 3.0], [1.0, float("nan"), 2.0], "finite"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "as many"),
    ],
)
def test_data_without_a_line_are_refused(sizes: list[float], times: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        affine_fit(sizes, times)
