"""Is a root found where scipy finds it, for smooth, steep, flat and infinite ends alike?"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from fireassay.stats.solvers import root

CASES: dict[str, tuple[Callable[[float], float], float, float]] = {
    "linear": (lambda x: x - 0.3, 0.0, 1.0),
    "cosine": (lambda x: math.cos(x) - x, 0.0, 1.0),
    "steep": (lambda x: math.tanh(1e6 * (x - 0.123)), -1.0, 1.0),
    "flat": (lambda x: (x - 0.7) ** 9, 0.0, 1.0),
    "a step": (lambda x: 1.0 if x > 1 / 3 else -1.0, 0.0, 1.0),
    "tiny values": (lambda x: 1e-300 * (x - 0.25), 0.0, 1.0),
    "huge values": (lambda x: 1e300 * (x**3 - 0.2), 0.0, 1.0),
    "infinite at one end": (lambda x: math.inf if x >= 0.5 else x - 0.2, 0.0, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_root_is_that_of_scipy(name: str) -> None:
    function, low, high = CASES[name]
    tolerance = 1e-2 if name == "flat" else 1e-10  # any value near a ninefold root is one
    expected = {"infinite at one end": 0.2, "flat": 0.7}.get(name) or brentq(function, low, high, xtol=1e-13)
    assert root(function, low, high, tolerance=1e-12) == pytest.approx(expected, abs=tolerance)
    assert root(function, high, low, tolerance=1e-12) == pytest.approx(expected, abs=tolerance)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_a_root_anywhere_is_found_in_few_steps(at: float, slope: float) -> None:
    calls = []

    def function(x: float) -> float:
        calls.append(x)
        return math.atan(slope * (x - at))

    found = root(function, -2e6, 2e6, tolerance=1e-6)
    assert found == pytest.approx(at, abs=1e-5)
    assert len(calls) < 110, "no more than two calls per halving"


def test_an_end_that_is_the_root_is_returned_and_equal_signs_are_refused() -> None:
    assert root(lambda x: x, 0.0, 1.0, tolerance=1e-9) == 0.0
    assert root(lambda x: x - 1.0, 0.0, 1.0, tolerance=1e-9) == 1.0
    with pytest.raises(ValueError, match="no change of sign"):
        root(lambda x: x + 1.0, 0.0, 1.0, tolerance=1e-9)
