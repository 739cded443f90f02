"""How per-launch values become an estimate: what is refused, what is exact, what is a logarithm."""

from __future__ import annotations

import math

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import exact, positive, transform
from fireassay.frames.per_launch import from_frame
from tests.handmade import Handmade


def of(values: list[float | None]) -> Value:
    made = Handmade(levels=(1,), blocks=len(values))
    numbers = [made.launch(workers=1, block=block) for block in range(len(values))]
    frame = pl.DataFrame({"launch": numbers, "value": values}, schema={"launch": pl.Int32, "value": pl.Float64})
    return from_frame(made.measured(), frame, unit="s", aggregate="value", name="thing|x", missing="nothing there", trials="")["workers=1"]


def test_the_interval_is_student_s_t_on_logarithms() -> None:
    """1, 2 and 4: the mean log is ln 2, its standard deviation ln 2, t(2, 0.975) = 4.30265."""
    value = of([1.0, 2.0, 4.0])
    assert isinstance(value, Estimate)
    half = 4.30265 * math.log(2.0) / math.sqrt(3.0)
    assert (value.value, value.low, value.high) == (
        pytest.approx(2.0),
        pytest.approx(2.0 * math.exp(-half), rel=1e-5),
        pytest.approx(2.0 * math.exp(half), rel=1e-5),
    )
    assert value.launch_values == (1.0, 2.0, 4.0)


@pytest.mark.parametrize("values", [[1.0, 0.0], [1.0, -1.0, 2.0], [-1.0]])
def test_a_time_of_nothing_or_less_is_a_damaged_measurement_and_refused(values: list[float | None]) -> None:
    value = of(values)
    assert isinstance(value, Absent)
    assert (value.reason, "0 or less for thing" in value.detail) == ("refused", True)


def test_nothing_everywhere_is_exactly_nothing() -> None:
    value = of([0.0, 0.0])
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high, value.confidence) == (0.0, 0.0, 0.0, 1.0)


def test_launches_without_a_value_are_left_out_and_counted_out() -> None:
    value = of([2.0, None, math.inf, math.nan, 2.5])
    assert isinstance(value, Estimate)
    assert value.n_launches == 2
    assert of([None, None]) == Absent(reason="not_measured", detail="nothing there")


def test_three_equal_whole_numbers_are_a_count_and_two_are_not() -> None:
    whole, two, fraction = (
        positive(values, 0.95, unit="count", aggregate="x", name="x", n_trials=3) for values in ([5.0] * 3, [5.0] * 2, [5.5] * 3)
    )
    assert (whole.confidence, two.confidence, fraction.confidence) == (1.0, 0.95, 0.95)


def test_a_falling_function_swaps_the_ends() -> None:
    source = positive([1.0, 2.0, 4.0], 0.95, unit="s", aggregate="x", name="x", n_trials=3)
    turned = transform(source, lambda value: 1.0 / value, unit="1/s", name="rate", how="1/x")
    assert (turned.low, turned.value, turned.high) == (1.0 / source.high, 1.0 / source.value, 1.0 / source.low)


def test_what_was_looked_at_completely_has_no_interval() -> None:
    found = exact(3.0, unit="count", name="n", n_launches=1, n_trials=7, how="counted")
    assert (found.low, found.high, found.confidence, found.n_trials) == (3.0, 3.0, 1.0, 7)
