"""Errors, scales and turns of gradients against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.groups.gradient_difference import Part, compare, ratio_name, tolerance


def parts(**named: tuple[list[float], list[float]]) -> list[Part]:
    return [Part(name=name, found=found, right=right, right_norm=float(np.linalg.norm(right))) for name, (found, right) in named.items()]


def test_the_numbers_of_a_gradient_worked_out_by_hand() -> None:
    # g* = (3, 4), g = (3, 0): |g - g*| = 4, |g*| = 5, <g, g*> = 9, |g| = 3: cos = 9/15.
    found = compare(parts(w=([3.0, 0.0], [3.0, 4.0])), "float64")
    assert found.error == pytest.approx(0.8, rel=1e-15)
    assert found.scale == pytest.approx(9 / 25, rel=1e-15)
    assert found.turn == pytest.approx(1 - 9 / 15, rel=1e-14)
    # g - k g* = (3 - 27/25, -36/25) = (1.92, -1.44), of length 2.4; |k g*| = 9/5.
    assert found.rest == pytest.approx(2.4 / 1.8, rel=1e-14)


def test_the_error_is_each_parameters_own_and_the_worst_is_named() -> None:
    found = compare(parts(a=([1.0, 1.0], [1.0, 1.0]), b=([0.011], [0.01])), "float64")
    assert found.worst == "b"
    assert found.errors == {"a": 0.0, "b": pytest.approx(0.1, rel=1e-12)}


@given(st.floats(1e-3, 1e3), st.lists(st.floats(-10, 10).map(lambda x: x + 0.5), min_size=1, max_size=20))
def test_a_multiple_is_a_scale_and_no_turn(factor: float, right: list[float]) -> None:
    if np.linalg.norm(right) < 1e-3:
        return
    found = compare(parts(w=([factor * x for x in right], right)), "float64")
    assert found.scale == pytest.approx(factor, rel=1e-12)
    assert found.turn < 1e-25
    assert found.rest < 1e-12


def test_a_missing_small_gradient_is_no_rounding() -> None:
    """assert_close's absolute tolerance of 1e-5 passes a missing gradient of 9e-6; this does not."""
    found = compare(parts(large=([0.1], [0.1]), small=([0.0], [9e-6])), "float32")
    assert found.errors["small"] == 1.0


def test_a_gradient_that_should_be_zero_is_judged_by_the_largest_one() -> None:
    """The bias before a normalisation, the keys' bias of attention: what is left of them is rounding."""
    found = compare(parts(large=([1.0], [1.0]), none=([3e-8], [-2e-8])), "float32")
    assert found.errors["none"] == pytest.approx(5e-8)
    assert found.error < tolerance("float32").error


def test_nothing_at_all_and_what_is_not_finite() -> None:
    nothing = compare(parts(w=([0.0], [0.0])), "float64")
    assert nothing.error == 0.0
    assert math.isnan(nothing.scale)
    assert compare(parts(w=([1.0], [0.0])), "float64").error == math.inf
    assert compare(parts(w=([math.nan], [1.0])), "float64").error == math.inf
    assert compare(parts(w=([0.0, 0.0], [1.0, 1.0])), "float64").scale == 0.0


def test_sides_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="w has 1 sums on one side and 2 on the other"):
        compare([Part(name="w", found=[1.0], right=[1.0, 2.0], right_norm=1.0)], "float64")
    with pytest.raises(ValueError, match="no parameter"):
        compare([], "float64")


def test_a_scale_gets_the_name_of_the_factor_that_it_is() -> None:
    factors = {"1 / workers": 0.25, "workers": 4.0, "1 / accumulation": 0.125}
    assert ratio_name(0.25 * (1 + 1e-7), factors, 1e-3) == "1 / workers"
    assert ratio_name(0.125, factors, 1e-3) == "1 / accumulation"
    assert ratio_name(0.765, factors, 1e-3) is None
    assert ratio_name(1.0, {"1 / accumulation": 1.0}, 1e-3) is None, "accumulating once scales nothing"


def test_tolerances_are_those_of_the_measured_floors() -> None:
    assert [tolerance(kind).error for kind in ("float64", "float32", "bfloat16")] == [1e-12, 2e-5, 5e-2]
    assert tolerance("something new") == tolerance("bfloat16")
