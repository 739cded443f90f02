"""Is the minimum that of scipy, from any start near it, and is a search that fails admitted?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from fireassay.stats.solvers import Array, minimum

X = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
NOISE = np.array([0.01, -0.02, 0.015, -0.005, 0.02, -0.01])


def residuals(part: Array) -> Array:
    return part[0] * X / (1.0 + part[1] * (X - 1.0)) * np.exp(-NOISE) - 10.0 * X / (1.0 + 0.05 * (X - 1.0))


def jacobian(part: Array) -> Array:
    below = 1.0 + part[1] * (X - 1.0)
    columns = [X / below, -part[0] * X * (X - 1.0) / below**2]
    return np.column_stack(columns) * np.exp(-NOISE)[:, np.newaxis]


@pytest.mark.parametrize("start", [(10.0, 0.05), (5.0, 0.3), (30.0, 0.01), (1.0, 0.0)])
def test_the_minimum_is_that_of_scipy(start: tuple[float, float]) -> None:
    found = minimum(residuals, jacobian, np.array(start))
    expected = least_squares(residuals, start, jac=jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    assert found is not None
    assert found == pytest.approx(expected, rel=1e-7)


def test_a_perfect_fit_and_columns_of_very_different_size_are_no_trouble() -> None:
    line = np.column_stack([np.ones(6), 1e9 * X])
    found = minimum(lambda part: line @ part - line @ np.array([2.0, 3e-9]), lambda _: line, np.array([0.0, 0.0]))
    assert found is not None
    assert found == pytest.approx([2.0, 3e-9])


def test_a_search_that_leaves_the_numbers_finds_nothing() -> None:
    with np.errstate(invalid="ignore"):
        assert minimum(np.log, lambda part: np.diag(1.0 / part), np.array([-1.0])) is None
