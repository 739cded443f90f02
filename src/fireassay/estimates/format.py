"""How is a number written for people?

The only module that turns numbers into text. A value has as many digits as its interval supports; the ends are rounded
outwards. All three stay on the same side of a limit printed with them as the exact numbers (`fireassay.estimates.rounding`).
If the interval excludes zero and is wider than the value (a ratio of few launches), value and ends keep two digits each, so
that none of them reads as zero. A table row uses one scale (s, ms, us ...), so that its numbers compare at a glance. A given
number (a gate, a margin) is written as given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.rounding import (
    DIGITS_OF_HALF_WIDTH,
    DIGITS_WITHOUT_INTERVAL,
    Way,
    fewest,
    outwards,
    rounded,
    signed,
    significant,
    written,
)
from fireassay.stats.groups.launch_groups import MIN_VALUES, groups

CLEARLY: Final = 0.002  # p below which diverging launches are marked after the interval: strict, as a report has many intervals
APART: Final = 0.01  # and the least relative difference between them

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
_SUFFIXES: Final = {"ratio": "", "count": "", "score": "", "": "", "1/s": "/s", "workers": " workers", "steps": " steps"}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How a unit is displayed: displayed number = value * factor, written between `before` and `after`."""

    factor: float
    before: str = ""
    after: str = ""

    @property
    def label(self) -> str:
        """The unit alone, for axes and column heads: "ms", "%", "$ per million samples"."""
        return f"{self.before}{' ' if self.before and self.after.startswith('per') else ''}{self.after}".strip()


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A value as displayed. `interval` is never empty for an estimate; `note` says why a value is absent."""

    text: str  # "12.3 ms" or "not measured"
    interval: str  # "[12.1, 12.5]", "exact", "no interval: one launch"; empty for an absent value
    note: str  # the reason of an absent value; empty for an estimate
    value: Value  # the number itself, for JSON and Excel
    scale: Scale

    @property
    def measured(self) -> bool:
        """True if there is a number."""
        return isinstance(self.value, Estimate)

    @property
    def full(self) -> str:
        """Value and interval, or the reason, in one line."""
        if self.measured:
            return with_interval(self.text, self.interval)
        return f"{self.text} ({self.note})" if self.note else self.text


def with_interval(text: str, interval: str) -> str:
    """Both in one line: "12.3 ms [12.1, 12.5]", "12.3 ms (no interval: one launch)"; only the text without a reason."""
    return f"{text} {interval}" if interval.startswith("[") else f"{text} ({interval})" if interval else text


def scale_for(unit: str, magnitudes: Iterable[float], work: str = "items") -> Scale:
    """The scale of a row: SI prefixes for s, J, B and W; "per million" for small prices and energies per item.

    `magnitudes` are all values of the row, in `unit`; the largest decides. `work` names an item in the plural.
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
    noun = work if per == "item" else per
    if head in _PREFIXES:
        scale = _prefixed(head, largest)
        return Scale(factor=scale.factor, after=f"{scale.after} per {_singular(noun)}")
    size, word = next((step for step in _PER if largest * step[0] >= 0.01), _PER[-1]) if largest > 0 else _PER[0]
    name = _singular(noun) if size == 1.0 else _plural(noun)
    return Scale(factor=size, before="$", after=f" per {word}{name}")


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 1 else word


def _plural(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"


def show(value: Value, scale: Scale | None = None, work: str = "items", *, beside: Sequence[float] = (), brief: bool = False) -> Shown:
    """One value as text; without a scale it gets the one that fits it best.

    `beside`: limits, in the value's unit, that a reader compares it with (a gate, a margin, no change).
    `brief`: one digit of the half-width instead of two, where there is no room.
    """
    if isinstance(value, Absent):
        empty = scale or Scale(factor=1.0)
        return Shown(text=ABSENT_WORDS[value.reason], interval="", note=value.detail, value=value, scale=empty)
    fitting = scale or scale_for(value.unit, (value.value,), work)
    middle, low, high = (x * fitting.factor for x in (value.value, value.low, value.high))
    digits = DIGITS_OF_HALF_WIDTH - 1 if brief else DIGITS_OF_HALF_WIDTH
    outward = outwards(middle, low, high, [limit * fitting.factor for limit in beside], digits)
    return Shown(
        text=dressed(written(outward.value), fitting),
        interval=_interval(value, outward.low, outward.high),
        note="",
        value=value,
        scale=fitting,
    )


def bracketed(
    value: float, low: float, high: float, unit: str = "ratio", *, beside: Sequence[float] = (), launches: int = 2
) -> tuple[str, str]:
    """A number and its interval outside of any metric, as text: ("1.25", "[1.19, 1.32]")."""
    shown = show(
        Estimate(value=value, low=low, high=high, unit=unit, confidence=0.95, n_launches=launches, n_trials=0, method="", signature=""),
        beside=beside,
    )
    return shown.text, shown.interval


def dressed(text: str, scale: Scale) -> str:
    """A written number with its unit: "$1.04", "-$0.20", "12 ms"; "1 worker" rather than "1 workers"."""
    after = scale.after
    if text == "1" and after in (" workers", " steps", " points"):
        after = after[:-1]
    minus = "−" if scale.before and text.startswith("−") else ""
    return f"{minus}{scale.before}{text.removeprefix(minus)}{after}"


def _interval(value: Estimate, low: Decimal, high: Decimal) -> str:
    if value.confidence == 1.0 and value.low == value.high:
        return "exact"
    if value.n_launches <= 1 and (low.is_infinite() or high.is_infinite()):
        return "no interval: one launch"
    if low.is_infinite() and high.is_infinite():
        return "no interval: the data bound neither side"
    return f"[{written(low)}, {written(high)}]{_caution(value)}"


def _caution(value: Estimate) -> str:
    """A caution that the interval does not show: its launches form separate groups (`fireassay.stats.groups.launch_groups`)."""
    if len(value.launch_values) < MIN_VALUES or (grouping := groups(value.launch_values, smallest_effect=APART)) is None:
        return ""
    return "" if grouping.p >= CLEARLY else " (two groups)" if grouping.outlying is None else " (one far out)"


def number(value: float, decimals: int, way: Way = "nearest", beside: Sequence[float] = ()) -> str:
    """A number with this many decimals, separators for thousands and a true minus; an exponent if very small or large. `beside` as in
    `reading`.
    """
    return written(rounded(value, decimals, way, beside))


def reading(value: float | None, unit: str, scale: Scale | None = None, *, beside: Sequence[float] = (), way: Way = "nearest") -> str:
    """A single reading (one launch's wall time): three digits, no interval; a dash for None.

    `beside`: limits it is compared with, in the same unit; `way`: "up" or "down" for a value that is itself a bound.
    """
    if value is None or not math.isfinite(value):
        return "–"
    fitting = scale or scale_for(unit, (value,))
    shown = value * fitting.factor
    decimals = 0 if shown == round(shown) else max(0, significant(shown, DIGITS_WITHOUT_INTERVAL))
    return dressed(written(rounded(shown, decimals, way, [limit * fitting.factor for limit in beside])), fitting)


def limit_text(value: float, unit: str, work: str = "items") -> str:
    """A given limit, unrounded, with its unit: "70 %", "1.5 s", "$0.25"."""
    fitting = scale_for(unit, (value,), work)
    return dressed(written(Decimal(f"{value * fitting.factor:.12g}")), fitting)


def count(value: int, thing: str = "") -> str:
    """A whole number with its noun: "1 launch", "1,200 launches"."""
    noun = thing if value != 1 or not thing else thing[:-2] if thing.endswith("ches") else thing.removesuffix("s")
    return signed(f"{value:,} {noun}".strip())


def percent(share: float, digits: int = 2, *, beside: Sequence[float] = (), way: Way = "nearest") -> str:
    """A share or relative change in at most `digits` significant digits: 0.05 is "5 %", 0.0123 "1.2 %", 1.5 "150 %".

    `beside` and `way` as in `reading`.
    """
    if math.isinf(share):
        return f"{number(share, 0)}"
    scaled = round(100.0 * share, 12)
    percentage = rounded(scaled, fewest(scaled, digits), way, [100.0 * limit for limit in beside])
    return f"{written(percentage)} %"


def banded(value: Value | None, band: Callable[[float], str] | None) -> str:
    """The word for a number, or for both ends of its interval: "good", "moderate to excellent"; "" of an exact number or none."""
    if band is None or not isinstance(value, Estimate) or value.low == value.high:
        return ""
    ends = (value.low, value.high) if math.isfinite(value.low) and math.isfinite(value.high) else (value.value, value.value)
    return " to ".join(dict.fromkeys(map(band, ends)))


def given(value: float, digits: int = 12) -> str:
    """A given number (a gate, a price, a setting), unrounded."""
    return signed(f"{value:.{digits}g}")


GIGABYTES: Final = Scale(factor=1e-9, after=" GB/s")
SIZES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def duration(seconds: float) -> str:
    """A waiting time as text: 8 s, 3 min 20 s, 2 h 5 min."""
    rounded_s = round(seconds)
    if rounded_s < 60:
        return f"{rounded_s} s"
    minutes, rest = divmod(rounded_s, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size_words(size: int) -> str:
    """ "1 KiB", "16 MiB", "1000 B"."""
    for unit, name in SIZES:
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
