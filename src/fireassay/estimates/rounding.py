"""How many digits does a number need, and which way is it rounded?

The half-width of an interval keeps two significant digits. The lower end is rounded down and the upper one up, so that the
printed interval contains the exact one and exceeds it by less than a tenth of its half-width on either side. The value is rounded
to the nearest at the same decimal, or one further if fewer than two significant digits would remain. A number read next to a
limit (a margin, a gate, no change) gets enough digits to show its side of the limit.
Binary fractions are first rounded to 14 significant digits: 0.07 in per cent is 7, and its upper end is not 8.
Source: Particle Data Group, "Review of Particle Physics", section 5.3 (two digits of an uncertainty); IEEE 1788, interval
arithmetic (outward rounding).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final, Literal

MAX_DIGITS: Final = 6  # significant digits; more are unreadable
DIGITS_OF_HALF_WIDTH: Final = 2
DIGITS_WITHOUT_INTERVAL: Final = 3
DIGITS_OF_EQUAL_ENDS: Final = 4
MIN_DIGITS: Final = 2  # of a value, and of ends orders of magnitude apart
MAX_DECIMALS: Final = 7  # above which a small number gets an exponent
MAX_WRITTEN_OUT: Final = 1e12
MIN_WRITTEN_OUT: Final = 1e-4
_EXACT: Final = 14  # significant digits that survive a multiplication by a scale

Way = Literal["nearest", "down", "up"]
_ROUNDING: Final = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_CONTEXT: Final = Context(prec=1000)  # digits: from the largest float to the smallest


@dataclass(frozen=True, kw_only=True)
class Decimals:
    """The last decimal of a value and of both ends; negative for tens, hundreds ..."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """A value inside its interval, as printed; an end that does not exist is infinite."""

    value: Decimal
    low: Decimal
    high: Decimal


def limit(value: float) -> float:
    """A limit as it is written: as given, or three digits if it was computed, such as the reciprocal of one."""
    return value if float(f"{value:.{MAX_DIGITS - 1}g}") == float(f"{value:.12g}") else float(f"{value:.3g}")


def rounded(value: float, decimals: int, way: Way = "nearest", beside: Iterable[float] = ()) -> Decimal:
    """The value at a decimal, or at the first further one that puts it on the right side of every limit in `beside`."""
    if not math.isfinite(value):
        return Decimal(value)
    exact, *edges = _exactly([value, *(limit for limit in beside if math.isfinite(limit))])
    if abs(value) >= MAX_WRITTEN_OUT:
        decimals = min(decimals, significant(value, MAX_DIGITS))
    for digit in range(decimals, max(decimals, -_exponent_of(exact)) + 1):
        candidate = exact.quantize(Decimal(1).scaleb(-digit, _CONTEXT), _ROUNDING[way], _CONTEXT)
        if candidate == exact or all(_side(candidate, edge) == _side(exact, edge) for edge in edges):
            return candidate
    return exact


def outwards(value: float, low: float, high: float, beside: Sequence[float] = (), digits: int = DIGITS_OF_HALF_WIDTH) -> Rounded:
    """A value and its ends, each with the digits it needs; `beside`: limits printed with them, `digits`: of the half-width.

    Zero is such a limit if the interval excludes it.
    """
    low, high = -math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high  # NaN: unbounded
    places = decimals_of(value, low, high, digits)
    limits = (*beside, 0.0) if low > 0.0 or high < 0.0 else tuple(beside)
    bottom = rounded(low, places.low, "down", limits)
    top = rounded(high, places.high, "up", limits)
    middle = rounded(value, places.value, "nearest", limits)
    contains_value = low <= value <= high
    if contains_value and not bottom <= middle <= top:
        (middle,) = _exactly([value])
    return Rounded(value=middle, low=bottom, high=top)


def decimals_of(value: float, low: float, high: float, of_half_width: int = DIGITS_OF_HALF_WIDTH) -> Decimals:
    """The decimals that the interval supports, with so many digits of its half-width."""
    half = _half_width(value, low, high)
    if half is None:
        return _without_interval(value, low, high)
    if half == 0.0:
        digits = fewest(value, DIGITS_OF_EQUAL_ENDS)
        return Decimals(value=digits, low=digits, high=digits)
    if half > abs(value) and (low > 0.0 or high < 0.0):  # nonzero ends that may be orders of magnitude apart
        return Decimals(value=significant(value, MIN_DIGITS), low=significant(low, MIN_DIGITS), high=significant(high, MIN_DIGITS))
    largest = max(abs(x) for x in (value, low, high) if math.isfinite(x))
    digits = min(significant(half, of_half_width), significant(largest, MAX_DIGITS))
    further = min(digits + 1, significant(value, MIN_DIGITS)) if value else digits
    return Decimals(value=max(digits, further), low=digits, high=digits)


def significant(value: float, digits: int) -> int:
    """The decimal at which a number has this many significant digits; 0 for zero and infinity."""
    if value == 0.0 or not math.isfinite(value):
        return 0
    return digits - 1 - math.floor(math.log10(abs(value)))


def fewest(value: float, digits: int) -> int:
    """The fewest decimals that show the value to this many significant digits; all digits of a whole number."""
    if not math.isfinite(value) or value == round(value):
        return 0
    most_decimals = max(0, significant(value, digits))
    shortest = (d for d in range(most_decimals) if math.isclose(round(value, d), round(value, most_decimals), rel_tol=1e-12))
    return next(shortest, most_decimals)


def written(number: Decimal) -> str:
    """The digits unchanged, with separators for thousands and a true minus; an exponent for very small or large numbers."""
    if number.is_nan():
        return "not a number"
    if number.is_infinite():
        return "no upper bound" if number > 0 else "no lower bound"
    places = max(0, -_exponent_of(number))
    if number == 0:
        return f"{Decimal(0):.{min(places, MAX_DECIMALS)}f}"  # no minus sign before zero
    size = abs(number)
    if size >= Decimal(MAX_WRITTEN_OUT) or (places > MAX_DECIMALS and size < Decimal(MIN_WRITTEN_OUT)):
        mantissa, _, power = f"{number:e}".partition("e")
        return signed(f"{mantissa}e{int(power)}")
    return signed(f"{number:,f}")


def signed(text: str) -> str:
    """A negative number with a true minus; an exponent keeps its hyphen, so that 2.8e-9 can be pasted."""
    return f"−{text[1:]}" if text.startswith("-") else text


def _without_interval(value: float, low: float, high: float) -> Decimals:
    digits = significant(value, DIGITS_WITHOUT_INTERVAL) if abs(value) < 1000 else 0
    bottom, top = (min(digits, significant(end, DIGITS_WITHOUT_INTERVAL)) for end in (low, high))
    return Decimals(value=digits, low=bottom, high=top)


def _half_width(value: float, low: float, high: float) -> float | None:
    ends = [end for end in (low, high) if math.isfinite(end)]
    if not ends or not math.isfinite(value):
        return None
    if len(ends) == 2:
        half = float(f"{high / 2.0 - low / 2.0:.12g}")  # 0.1, not 0.0999...
        return half if half > abs(value) * 1e-12 else 0.0
    distance = abs(value - ends[0])
    return distance if distance < abs(value) else None  # (v, 0, inf) is unbounded


def _exactly(numbers: Sequence[float]) -> list[Decimal]:
    """The intended decimal numbers; with all their digits if rounding would merge the first with another one."""
    meant = [Decimal(f"{number:.{_EXACT}g}") for number in numbers]
    hidden = any(number != numbers[0] and short == meant[0] for number, short in zip(numbers[1:], meant[1:], strict=True))
    return [Decimal(repr(number)) for number in numbers] if hidden else meant


def _side(number: Decimal, edge: Decimal) -> int:
    return (number > edge) - (number < edge)


def _exponent_of(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
