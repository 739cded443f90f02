"""How is a number written for people?  The only place in assay that turns numbers into text.

A value is written with as many digits as its interval supports: the half-width of the interval keeps two significant
digits if they read 10 to 35 and else one (Particle Data Group, "Review of Particle Physics", section 5.3), and the
value and both ends of the interval end at that same decimal.  Where the interval excludes zero and is wider than the value
itself (a ratio of few launches), value and ends keep two digits each: none of them is zero, and none must read so.  One row
of a table uses one scale (s, ms, us ...), so that its numbers can be compared by looking at them.  Cannot tell: anything that the interval itself leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from assay.metrics.estimate import Absent, Estimate, Value

MOST_DIGITS: Final = 6  # significant digits beyond which nobody reads
DIGITS_WITHOUT_INTERVAL: Final = 3
DIGITS_OF_EQUAL_ENDS: Final = 4
DIGITS_AT_LEAST: Final = 2  # of a value whose interval excludes zero

ABSENT_WORDS: Final = {
    "not_measured": "not measured",
    "insufficient": "not measured: too few data",
    "not_applicable": "not applicable",
    "undefined": "not measured: undefined",
    "refused": "not measured: refused",
}

_PREFIXES: Final = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "J": ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")),
    "B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "W": ((1e6, "MW"), (1e3, "kW"), (1.0, "W"), (1e-3, "mW")),
    "FLOP": ((1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1.0, "FLOP")),
    "FLOP/s": ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")),
}
_PER: Final = ((1.0, ""), (1e3, "1,000 "), (1e6, "million "), (1e9, "billion "))
_SUFFIXES: Final = {
    "ratio": "", "count": "", "score": "", "": "", "1/s": "/s", "workers": " workers", "steps": " steps",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How a unit is shown: shown number = value * factor, written between `before` and `after`."""

    factor: float
    before: str = ""
    after: str = ""

    @property
    def label(self) -> str:
        """The unit alone, for axes and heads of columns: "ms", "%", "$ per million samples"."""
        return f"{self.before}{' ' if self.before and self.after.startswith('per') else ''}{self.after}".strip()


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A value as people see it. `interval` is never empty for an estimate; `note` says why a value is absent."""

    text: str  # "12.3 ms" or "not measured"
    interval: str  # "[12.1, 12.5]", "exact", "no interval: one launch"; empty for an absent value
    note: str  # the reason of an absent value; empty for an estimate
    value: Value  # the number itself, for JSON and Excel
    scale: Scale

    @property
    def measured(self) -> bool:
        """Whether there is a number."""
        return isinstance(self.value, Estimate)

    @property
    def full(self) -> str:
        """Value and interval, or the reason, in one line."""
        if self.measured:
            return f"{self.text} {self.interval}" if self.interval[0] == "[" else f"{self.text} ({self.interval})"
        return f"{self.text} ({self.note})" if self.note else self.text


def scale_for(unit: str, magnitudes: Iterable[float], work: str = "items") -> Scale:
    """The scale of a row: SI prefixes for s, J, B and W; "per million" for small prices and energies of an item.

    `magnitudes` are all values of the row, in `unit`; the largest decides. `work` names one item in the plural.
    """
    largest = max((abs(m) for m in magnitudes if math.isfinite(m)), default=0.0)
    head, _, per = unit.partition("/")
    if unit == "B/s":
        scale = _prefixed("B", largest)
        return Scale(factor=scale.factor, after=f"{scale.after}/s")
    if per and unit not in _PREFIXES and head in ("USD", *_PREFIXES):
        return _scale_per(head, per, largest, work)
    if unit in _PREFIXES:
        return _prefixed(unit, largest)
    if unit == "fraction":
        return Scale(factor=100.0, after=" %")
    if unit == "USD":
        return Scale(factor=1.0, before="$")
    if unit == "items/USD":
        return Scale(factor=1.0, after=f" {work} per $")
    return Scale(factor=1.0, after=_SUFFIXES.get(unit, f" {unit}"))


def _prefixed(unit: str, largest: float) -> Scale:
    steps = _PREFIXES[unit]
    fallback = next(step for step in steps if step[0] == 1.0) if largest == 0.0 else steps[-1]
    size, name = next((step for step in steps if largest >= step[0]), fallback)
    return Scale(factor=1.0 / size, after=f" {name}")


def _scale_per(head: str, per: str, largest: float, work: str) -> Scale:
    """USD/item, J/item, USD/step: a prefix where the unit has one, else "per million"."""
    thing = work if per == "item" else per
    if head in _PREFIXES:
        scale = _prefixed(head, largest)
        return Scale(factor=scale.factor, after=f"{scale.after} per {_singular(thing)}")
    size, word = next((step for step in _PER if largest * step[0] >= 0.01), _PER[-1]) if largest > 0 else _PER[0]
    name = _singular(thing) if size == 1.0 else _plural(thing)
    return Scale(factor=size, before="$", after=f" per {word}{name}")


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 1 else word


def _plural(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"


def show(value: Value, scale: Scale | None = None, work: str = "items") -> Shown:
    """One value as text; without a scale it gets the one that suits it alone."""
    if isinstance(value, Absent):
        empty = scale or Scale(factor=1.0)
        return Shown(text=ABSENT_WORDS[value.reason], interval="", note=value.detail, value=value, scale=empty)
    fitting = scale or scale_for(value.unit, (value.value,), work)
    middle, low, high = (x * fitting.factor for x in (value.value, value.low, value.high))
    decimals = decimals_of(middle, low, high)
    ends = (decimals, decimals)
    if _wide(middle, low, high):
        decimals = _significant(middle, DIGITS_AT_LEAST)
        ends = (_significant(low, DIGITS_AT_LEAST), _significant(high, DIGITS_AT_LEAST))
    return Shown(
        text=dressed(number(middle, decimals), fitting),
        interval=_interval(value, low, high, ends),
        note="",
        value=value,
        scale=fitting,
    )


def dressed(text: str, scale: Scale) -> str:
    """A written number with its unit: "$1.04", "-$0.20", "12 ms"; "1 worker" rather than "1 workers"."""
    after = scale.after
    if text == "1" and after in (" workers", " steps"):
        after = after[:-1]
    minus = "−" if scale.before and text.startswith("−") else ""
    return f"{minus}{scale.before}{text.removeprefix(minus)}{after}"


def _wide(value: float, low: float, high: float) -> bool:
    """Whether an interval that excludes zero is wider than the value: its ends may be orders of magnitude apart."""
    half = _half_width(value, low, high)
    return half is not None and half > abs(value) and (low > 0.0 or high < 0.0)


def _interval(value: Estimate, low: float, high: float, decimals: tuple[int, int]) -> str:
    if value.confidence == 1.0 and value.low == value.high:
        return "exact"
    if value.n_launches <= 1 and (math.isinf(high) or math.isinf(low)):
        return "no interval: one launch"
    if math.isinf(low) and math.isinf(high):
        return "no interval: the data bound neither side"
    left = "no lower bound" if math.isinf(low) else number(low, decimals[0])
    right = "no upper bound" if math.isinf(high) else number(high, decimals[1])
    return f"[{left}, {right}]"


def decimals_of(value: float, low: float, high: float) -> int:
    """The last decimal that the interval supports; negative for tens, hundreds ..."""
    half = _half_width(value, low, high)
    largest = max((abs(x) for x in (value, low, high) if math.isfinite(x)), default=0.0)
    if half is None:
        return _significant(value, DIGITS_WITHOUT_INTERVAL) if abs(value) < 1000 else 0
    if half == 0.0:
        return _fewest(value, DIGITS_OF_EQUAL_ENDS)
    exponent = math.floor(math.log10(half))
    leading = half / 10.0**exponent  # 1.0 .. 9.99
    keep = 1 if 3.545 <= leading < 9.5 else 2
    exponent += leading >= 9.5
    decimals = keep - 1 - exponent
    if _wide(value, low, high):
        return max(decimals, _significant(value, DIGITS_AT_LEAST))
    return min(decimals, _significant(largest, MOST_DIGITS))


def _half_width(value: float, low: float, high: float) -> float | None:
    ends = [end for end in (low, high) if math.isfinite(end)]
    if not ends or not math.isfinite(value):
        return None
    if len(ends) == 2:
        half = high / 2.0 - low / 2.0
        return half if half > abs(value) * 1e-12 else 0.0
    distance = abs(value - ends[0])
    return distance if distance < abs(value) else None  # (v, 0, inf) bounds nothing


def _significant(value: float, digits: int) -> int:
    if value == 0.0 or not math.isfinite(value):
        return 0
    return digits - 1 - math.floor(math.log10(abs(value)))


def _fewest(value: float, digits: int) -> int:
    """The fewest decimals that show the value to so many significant digits; all digits of a whole number."""
    if value == round(value):
        return 0
    most = max(0, _significant(value, digits))
    shortest = (d for d in range(most) if math.isclose(round(value, d), round(value, most), rel_tol=1e-12))
    return next(shortest, most)


def number(value: float, decimals: int) -> str:
    """A number with so many decimals, thousands separated, a true minus; very small or large ones with an exponent."""
    if math.isinf(value):
        return "no upper bound" if value > 0 else "no lower bound"
    if abs(value) >= 1e12 or (decimals > 7 and 0.0 < abs(value) < 1e-4):
        return _exponent(value, decimals)
    rounded = round(value, decimals) + 0.0  # no minus before a zero
    return f"{rounded:,.{max(decimals, 0)}f}".replace("-", "−")


def _exponent(value: float, decimals: int) -> str:
    exponent = math.floor(math.log10(abs(value)))
    mantissa, _, power = f"{value:.{max(0, min(MOST_DIGITS, decimals + exponent))}e}".partition("e")
    return f"{mantissa}e{int(power)}".replace("-", "−")


def reading(value: float | None, unit: str, scale: Scale | None = None) -> str:
    """A single measured reading (one launch's wall time): three digits, no interval; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    fitting = scale or scale_for(unit, (value,))
    shown = value * fitting.factor
    decimals = 0 if shown == round(shown) else max(0, _significant(shown, DIGITS_WITHOUT_INTERVAL))
    return dressed(number(shown, decimals), fitting)


def count(value: int, thing: str = "") -> str:
    """A whole number with its noun: "1 launch", "1,200 launches"."""
    noun = thing if value != 1 or not thing else thing[:-2] if thing.endswith("ches") else thing.removesuffix("s")
    return f"{value:,} {noun}".strip().replace("-", "−")


def percent(share: float, digits: int = 2) -> str:
    """A share or a relative change in at most so many significant digits: 0.05 is "5 %", 0.0123 "1.2 %", 1.5 "150 %"."""
    scaled = round(100.0 * share, 12)
    return f"{number(scaled, _fewest(scaled, digits))} %"


def given(value: float, digits: int = 12) -> str:
    """A number that was given rather than measured (a gate, a price, a setting), as given."""
    return f"{value:.{digits}g}".replace("-", "−")
