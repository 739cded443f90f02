"""The dispersion of launches against numpy, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.dispersion import Dispersion, dispersion
from fireassay.estimates.estimate import Absent
from tests.reports.writers.small import estimate


def of(*values: float) -> Dispersion | None:
    return dispersion(replace(estimate(1.0), launch_values=values))


def test_four_launches_by_hand() -> None:
    """2, 4, 4, 6: mean 4, squares 4 + 0 + 0 + 4 = 8, over 3 is 2.667, its root 1.633, over 4 is 40.8 %."""
    found = of(2.0, 4.0, 4.0, 6.0)
    assert found is not None
    assert (found.count, found.mean, found.smallest, found.largest) == (4, 4.0, 2.0, 6.0)
    assert (found.deviation, found.variation) == (pytest.approx(1.632993), pytest.approx(0.4082483))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_the_deviation_is_that_of_numpy(values: list[float]) -> None:
    found = of(*values)
    assert found is not None
    assert found.deviation == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, math.inf), (1.0, math.nan)])
def test_one_launch_has_no_dispersion(values: tuple[float, ...]) -> None:
    assert of(*values) is None


def test_what_was_not_measured_has_none() -> None:
    assert dispersion(Absent(reason="not_measured", detail="x")) is None


def test_a_mean_of_nothing_has_no_variation() -> None:
    found = of(-1.0, 1.0)
    assert found is not None
    assert found.variation is None
