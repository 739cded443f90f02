"""How numbers are written: digits by the interval, ends outwards, one scale per row, absence in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import banded, count, given, limit_text, number, percent, reading, scale_for, show
from fireassay.stats.models.scaling_predictions import band


def made(value: float, low: float, high: float, unit: str = "ratio", *, k: int = 5, confidence: float = 0.95) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit=unit, confidence=confidence, n_launches=k, n_trials=k, method="m", signature="s")


@pytest.mark.parametrize(
    ("value", "half", "text", "interval"),
    [
        # two digits of the half-width (PDG 5.3 for 0.119); ends by hand: down and up at that decimal
        (0.827, 0.119, "0.83", "[0.70, 0.95]"),
        (0.827, 0.367, "0.83", "[0.46, 1.20]"),
        (1.8734, 0.0712, "1.873", "[1.802, 1.945]"),
        (10.0, 0.0031, "10.0000", "[9.9969, 10.0031]"),
        (123456.0, 3000.0, "123,500", "[120,400, 126,500]"),
        (26.6, 14.2, "27", "[12, 41]"),
        (0.5, 0.097, "0.500", "[0.403, 0.597]"),
        (-5.7, 36.0, "−5.7", "[−42, 31]"),  # the value keeps two digits, one decimal beyond its ends
        (-0.57, 36.0, "−0.6", "[−37, 36]"),
        (-0.01, 36.0, "0.0", "[−37, 36]"),
    ],
)
def test_the_interval_decides_the_digits(value: float, half: float, text: str, interval: str) -> None:
    shown = show(made(value, value - half, value + half))
    assert (shown.text, shown.interval) == (text, interval)


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1.53, 0.005, 490.0, "1.5 [0.0050, 490]"),  # t interval of two logarithms
        (-1.53, -490.0, -0.005, "−1.5 [−490, −0.0050]"),
        (0.0011, 2.9e-10, 4123.4, "0.0011 [2.9e-10, 4,200]"),  # ends that are further apart than six digits reach
        (0.0004, -0.0029, 0.0031, "0.00040 [−0.0029, 0.0031]"),
        (0.000002, -0.0029, 0.0029, "0.00000 [−0.0029, 0.0029]"),  # may be zero, and reads so
        (0.35, 0.0004, 0.7, "0.35 [0.0004, 0.70]"),  # excludes zero, and reads so
    ],
)
def test_a_value_that_is_not_zero_is_never_written_as_zero(value: float, low: float, high: float, text: str) -> None:
    assert show(made(value, low, high)).full == text


@pytest.mark.parametrize(
    ("value", "low", "high", "limit", "text"),
    [
        (0.6996, 0.61, 0.79, 0.7, "0.6996 [0.610, 0.790]"),  # never "0.70 < 0.70"
        (0.72, 0.70004, 0.74, 0.7, "0.720 [0.70004, 0.740]"),  # an end that is above the gate is above it in print
        (0.68, 0.66, 0.69996, 0.7, "0.680 [0.660, 0.69996]"),
        (0.72, 0.7, 0.74, 0.7, "0.720 [0.700, 0.740]"),  # on it is on it
        (-0.0299996, -0.0312, -0.0288, -0.03, "−0.0299996 [−0.0312, −0.0288]"),
        (0.7 - 1.2e-16, 0.6, 0.79, 0.7, "0.6999999999999998 [0.600, 0.790]"),
    ],
)
def test_a_limit_that_stands_beside_is_on_the_side_where_it_is(value: float, low: float, high: float, limit: float, text: str) -> None:
    assert show(made(value, low, high), beside=(limit,)).full == text


def test_the_limit_is_compared_in_the_units_of_the_value() -> None:
    """A wall time of 999.9997 ms against a deadline of 1 s; an efficiency of 69.996 % against 0.7."""
    assert show(made(0.9999997, 0.98, 1.02, "s"), beside=(1.0,)).text == "999.9997 ms"
    assert show(made(0.69996, 0.6, 0.8, "fraction"), beside=(0.7,)).text == "69.996 %"
    assert [limit_text(0.7, "fraction"), limit_text(1.5, "s"), limit_text(0.25, "USD"), limit_text(0.71234567, "fraction")] == [
        "70 %",
        "1.5 s",
        "$0.25",
        "71.234567 %",
    ]


def test_a_reading_and_a_share_keep_to_their_side_of_a_limit_too() -> None:
    assert reading(0.0100004, "fraction", beside=(0.01,)) == "1.00004 %"
    assert percent(0.0100004, beside=(0.01,)) == "1.00004 %"
    assert percent(0.2014, way="up") == "21 %"
    assert percent(math.inf) == "no upper bound %".removesuffix(" %")


def test_no_more_than_six_digits_are_written() -> None:
    assert show(made(1.23456789, 1.23456788, 1.23456790)).text == "1.23457"


def test_one_launch_has_no_interval_and_three_digits() -> None:
    shown = show(made(3.6789, 0.0, math.inf, "s", k=1))
    assert (shown.text, shown.interval) == ("3.68 s", "no interval: one launch")
    assert shown.full == "3.68 s (no interval: one launch)"


def test_a_side_without_bound_is_said_in_words() -> None:
    assert show(made(5.9, 5.0, math.inf)).full == "5.90 [5.00, no upper bound]"
    assert show(made(5.9, -math.inf, 6.8)).full == "5.90 [no lower bound, 6.80]"
    assert show(made(5.9, -math.inf, math.inf)).interval == "no interval: the data bound neither side"


def test_a_complete_count_is_exact_and_equal_launches_are_not() -> None:
    assert show(made(0.0, 0.0, 0.0, "count", confidence=1.0)).full == "0 (exact)"
    assert show(made(1.0, 1.0, 1.0)).full == "1 [1, 1]"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("not_measured", "not measured"),
        ("insufficient", "not measured: too few data"),
        ("not_applicable", "not applicable"),
        ("undefined", "not measured: undefined"),
        ("refused", "not measured: refused"),
    ],
)
def test_an_absent_value_is_words_and_never_a_number(reason: str, words: str) -> None:
    shown = show(Absent(reason=reason, detail="no counter"))  # type: ignore[arg-type]
    assert shown.full == f"{words} (no counter)"
    assert not shown.measured


@pytest.mark.parametrize(
    ("unit", "values", "shown", "label"),
    [
        ("s", [0.1, 0.04], ["100 ms", "40 ms"], "ms"),
        ("s", [3600.0, 250.0], ["3,600 s", "250 s"], "s"),
        ("s", [2.5e-6], ["2.50 µs"], "µs"),
        ("fraction", [0.625], ["62.5 %"], "%"),
        ("USD", [1.04], ["$1.04"], "$"),
        ("USD", [-0.25], ["−$0.250"], "$"),
        ("USD/item", [8.333e-07, 1.852e-06], ["$0.833 per million samples", "$1.85 per million samples"], "$ per million samples"),
        ("USD/step", [0.2], ["$0.200 per step"], "$ per step"),
        ("items/USD", [1_200_000.0], ["1,200,000 samples per $"], "samples per $"),
        ("J/item", [0.0025], ["2.50 mJ per sample"], "mJ per sample"),
        ("1/s", [2560.0], ["2,560/s"], "/s"),
        ("B", [4_500_000.0], ["4.50 MB"], "MB"),
        ("furlongs", [3.0], ["3 furlongs"], "furlongs"),
    ],
)
def test_a_row_has_one_scale(unit: str, values: list[float], shown: list[str], label: str) -> None:
    scale = scale_for(unit, values, "samples")
    assert [reading(value, unit, scale) for value in values] == shown
    assert scale.label == label


def test_the_singular_is_used_for_one() -> None:
    assert show(made(1.0, 1.0, 1.0, "workers")).text == "1 worker"
    assert [count(1, "launches"), count(2, "launches"), count(1, "steps")] == ["1 launch", "2 launches", "1 step"]


def test_a_reading_that_is_missing_is_a_dash() -> None:
    assert [reading(None, "s"), reading(math.nan, "s"), reading(math.inf, "s")] == ["–", "–", "–"]


def test_what_was_given_is_written_as_given() -> None:
    assert [given(0.7), given(0.02), given(1e-7), given(-3.0)] == ["0.7", "0.02", "1e-07", "−3"]


def test_no_minus_stands_before_a_zero() -> None:
    assert number(-0.001, 2) == "0.00"


def test_very_small_numbers_have_an_exponent() -> None:
    assert show(made(3.2e-9, 3.1e-9, 3.3e-9)).text == "3.20e-9"


def test_only_the_sign_of_a_number_is_a_true_minus() -> None:
    assert [given(-2.8e-9), show(made(-3.2e-9, -3.3e-9, -3.1e-9)).text] == ["−2.8e-09", "−3.20e-9"]
    assert [float(text) for text in (given(2.8e-9), show(made(3.2e-9, 3.1e-9, 3.3e-9)).text)] == [2.8e-9, 3.2e-9]


@drawn(st.floats(allow_nan=False), st.floats(allow_nan=False), st.floats(allow_nan=False), st.integers(1, 9))
def test_every_estimate_can_be_written(value: float, low: float, high: float, k: int) -> None:
    for unit in ("s", "ratio", "USD/item", "fraction", "J"):
        shown = show(made(value, min(low, high), max(low, high), unit, k=k))
        assert shown.text
        assert shown.interval
        assert "nan" not in shown.full


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (0.05, 2, "5 %"),
        (0.0123456, 2, "1.2 %"),
        (0.00123, 2, "0.12 %"),
        (0.999, 2, "100 %"),
        (0.999, 3, "99.9 %"),
        (12.3456, 2, "1,235 %"),
        (-0.0321, 3, "−3.21 %"),
        (0.0, 2, "0 %"),
        (0.07, 12, "7 %"),
    ],
)
def test_a_share_has_no_exponent_and_no_needless_digit(share: float, digits: int, shown: str) -> None:
    assert percent(share, digits) == shown


def test_where_there_is_no_room_a_digit_less_is_shown_and_the_interval_still_holds_the_exact_one() -> None:
    value = made(105.23, 98.51, 116.17)
    assert (show(value).text, show(value).interval) == ("105.2", "[98.5, 116.2]")
    assert (show(value, brief=True).text, show(value, brief=True).interval) == ("105", "[98, 117]")


def test_a_wide_interval_in_brief_is_rounded_to_tens() -> None:
    shown = show(made(533.0, 516.0, 551.0), brief=True)
    assert (shown.text, shown.interval) == ("530", "[510, 560]")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (made(0.91, 0.905, 0.93), "excellent"),
        (made(0.80, 0.69, 0.91), "moderate to excellent"),
        (made(0.60, -math.inf, math.inf), "moderate"),  # one launch: the word of the number itself
        (made(1.0, 1.0, 1.0), ""),  # the base
        (Absent("not_measured", "none"), ""),
        (None, ""),
    ],
)
def test_an_interval_has_the_words_of_both_its_ends(value: Estimate | Absent | None, words: str) -> None:
    assert banded(value, band) == words
    assert banded(value, None) == ""
