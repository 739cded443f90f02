"""What is printed holds what was measured: ends outwards, the value inside, no side of a limit changed, no needless digit."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, show
from fireassay.estimates.rounding import outwards, rounded, written

SNAP = 1e-12  # of a number's own size: what binary fractions lose when they are scaled
UNITS = ("ratio", "fraction", "s", "B", "B/s", "USD", "USD/item", "J", "1/s", "count", "score", "FLOP/s")
FACTORS = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
NUMBERS = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False).filter(lambda x: x == 0.0 or abs(x) > 1e-12)
LIMITS = NUMBERS.map(lambda x: float(f"{x:.12g}"))  # as many digits as a limit is printed with
WIDTHS = st.floats(min_value=0.0, max_value=1e12, allow_nan=False).filter(lambda x: x == 0.0 or x > 1e-12)


def made(value: float, low: float, high: float, unit: str = "ratio") -> Estimate:
    return Estimate(value=value, low=low, high=high, unit=unit, confidence=0.95, n_launches=5, n_trials=5, method="", signature="")


def at_most(first: float, second: float) -> bool:
    return first <= second + SNAP * max(abs(first), abs(second))


def ends_of(text: str) -> tuple[float, float]:
    low, high = text.removeprefix("[").removesuffix("]").split(", ")
    return plain(low), plain(high)


def plain(text: str) -> float:
    """The number that a reader reads."""
    words = {"no lower bound": "-inf", "no upper bound": "inf"}
    return float(words.get(text, text).replace("−", "-").replace(",", ""))


@given(NUMBERS, WIDTHS, WIDTHS, st.lists(NUMBERS, max_size=2))
@example(-5.7, 34.3, 45.7, [])
@example(0.69996, 0.1, 0.1, [0.7])
@example(0.0, 0.0, 0.0, [0.0])
@example(1e15, 1.0, 1.0, [])
@example(5e-12, 1e-12, 1e12, [])
def test_the_printed_interval_holds_the_real_one_and_its_value(value: float, below: float, above: float, limits: list[float]) -> None:
    low, high = value - below, value + above
    found = outwards(value, low, high, limits)
    assert at_most(float(found.low), low)
    assert at_most(high, float(found.high))
    assert found.low <= found.value <= found.high


@given(NUMBERS, WIDTHS, WIDTHS, LIMITS)
@example(0.69996, 0.1, 0.1, 0.7)
@example(0.7, 0.0, 0.1, 0.7)
@example(0.70000001, 0.05, 0.1, 0.7)
def test_all_three_stand_on_their_side_of_a_limit(value: float, below: float, above: float, limit: float) -> None:
    low, high = value - below, value + above
    found = outwards(value, low, high, [limit])
    for printed, real in ((found.value, value), (found.low, low), (found.high, high)):
        close = limit != real and abs(real - limit) <= SNAP * max(abs(real), abs(limit))
        assert close or (float(printed) > limit, float(printed) < limit) == (real > limit, real < limit)


@given(NUMBERS, WIDTHS, WIDTHS)
def test_a_sign_is_kept_and_an_interval_without_zero_reads_so(value: float, below: float, above: float) -> None:
    low, high = value - below, value + above
    found = outwards(value, low, high)
    assert found.value * Decimal(value) >= 0
    if low > 0.0 or high < 0.0:
        assert (found.low > 0, found.high < 0) == (low > 0.0, high < 0.0)
        assert found.value != 0


@given(NUMBERS, WIDTHS)
def test_there_are_no_needless_digits(value: float, half: float) -> None:
    """At most two digits of the half-width, six of the largest, and one more of the value."""
    low, high = value - half, value + half
    assume(low > 0.0 or high < 0.0 or half > 0.0)
    wide = half > abs(value) and (low > 0.0 or high < 0.0)
    assume(half > 1e-11 * abs(value) and not wide)
    found = outwards(value, low, high)
    unit = 10.0 ** math.floor(math.log10(high / 2.0 - low / 2.0)) / 10.0
    sixth = 10.0 ** (math.floor(math.log10(max(abs(value), abs(low), abs(high)))) - 5)
    finest = max(unit, sixth) / 10.0 * 0.999
    for number, real in ((found.value, value), (found.low, low), (found.high, high)):
        kept = abs(real) < unit * 10.0  # an end that would read zero, or change its side of it, has more
        assert kept or number == 0 or 10.0 ** int(number.as_tuple().exponent) >= finest


@given(NUMBERS, st.floats(min_value=1e-9, max_value=1e9))
def test_rounding_outwards_widens_by_less_than_a_tenth_of_the_half_width_and_the_sixth_digit(value: float, half: float) -> None:
    assume(half > abs(value) * 1e-11)  # below that the ends are equal but for rounding
    low, high = value - half, value + half
    found = outwards(value, low, high)
    half = high / 2.0 - low / 2.0
    allowed = 0.1 * half + 1e-5 * max(abs(value), abs(low), abs(high))
    wide = half > abs(value) * (1.0 - 1e-9) and (low > 0.0 or high < 0.0)
    assert wide or float(found.high) - high <= allowed
    assert wide or low - float(found.low) <= allowed


@given(NUMBERS, WIDTHS, WIDTHS, st.sampled_from(UNITS))
@example(0.07, 0.0001, 0.0, "fraction")  # 100 x 0.07 is 7.000000000000001 in binary
@example(1.5e-5, 1e-6, 1e-6, "s")
@example(2.5e9, 1e8, 1e8, "B")
def test_in_every_unit_the_text_holds_the_interval(value: float, below: float, above: float, unit: str) -> None:
    one = made(value, value - below, value + above, unit)
    shown = show(one)
    low, high = ends_of(shown.interval)
    assert at_most(low, one.low * shown.scale.factor)
    assert at_most(one.high * shown.scale.factor, high)
    assert shown.scale.label.strip() in shown.text or shown.scale.before


@pytest.mark.parametrize(("value", "unit", "prefix"), [(1.5e-5, "s", "µ"), (0.25, "s", "m"), (2.5e9, "B", "G"), (3e15, "FLOP/s", "P")])
def test_the_prefix_and_the_number_together_are_the_value(value: float, unit: str, prefix: str) -> None:
    text, name = show(made(value, value * 0.99, value * 1.01, unit)).text.split(" ")
    assert name == f"{prefix}{unit}"
    assert plain(text) * FACTORS[prefix] == pytest.approx(value)


@given(NUMBERS, WIDTHS)
def test_an_end_that_does_not_exist_is_said_in_words(value: float, half: float) -> None:
    assert show(made(value, value - half, math.inf)).interval.endswith("no upper bound]")
    assert show(made(value, -math.inf, value + half)).interval.startswith("[no lower bound")


def test_an_end_that_is_no_number_bounds_nothing() -> None:
    assert show(made(2.0, 1.5, math.nan)).full == "2.00 [1.50, no upper bound]"
    assert show(made(math.nan, 1.5, 2.5)).text == "not a number"


@given(NUMBERS, st.integers(-3, 9))
def test_what_is_written_is_what_was_rounded(value: float, decimals: int) -> None:
    number = rounded(value, decimals)
    assert plain(written(number)) == float(number)


def test_a_row_keeps_its_scale_whatever_one_of_its_values_is() -> None:
    milliseconds = Scale(factor=1e3, after=" ms")
    assert show(made(0.0123, 0.0121, 0.0126, "s"), milliseconds).full == "12.30 ms [12.10, 12.60]"
