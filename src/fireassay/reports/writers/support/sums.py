"""How are the parts of a sum written so that they add up as printed?

All parts share one decimal.  The last part is what is not explained, and takes what rounding leaves over.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.rounding import outwards, rounded, significant, written
from fireassay.reports.page import Number, Part, Sum

DIGITS: Final = 3  # significant digits of the total


@dataclass(frozen=True, kw_only=True)
class SumRow:
    """A printed part: its text, its number, its interval (empty: none), and its size in the sum's unit."""

    text: str
    number: str
    interval: str
    size: float
    role: str
    sure: bool = True  # its interval excludes zero


@dataclass(frozen=True, kw_only=True)
class Written:
    """A printed sum: start + parts = total."""

    start: SumRow
    parts: tuple[SumRow, ...]
    total: SumRow


def written_sum(block: Sum) -> Written:
    """The parts as printed; those without a number are left out."""
    factor = block.total.number.shown.scale.factor  # parts may have been shown in other units
    places = max(0, significant(_size(block.total.number, factor), DIGITS))
    start, total = rounded(_size(block.start.number, factor), places), _as_shown(block.total.number, places)
    known = [part for part in block.parts if isinstance(part.number.value, Estimate)]
    numbers = [rounded(_size(part.number, factor), places) for part in known]
    if numbers:
        numbers[-1] = total - start - sum(numbers[:-1], Decimal(0))
    rows = tuple(_row(part, number, places, factor) for part, number in zip(known, numbers, strict=True))
    return Written(start=_row(block.start, start, places, factor), parts=rows, total=_row(block.total, total, places, factor))


def _size(number: Number, factor: float) -> float:
    return number.value.value * factor if isinstance(number.value, Estimate) else 0.0


def _as_shown(number: Number, places: int) -> Decimal:
    """The total as tables show it, so that a page has one number for it; at these decimals if it has fewer."""
    value, factor = number.value, number.shown.scale.factor
    if not isinstance(value, Estimate):
        return Decimal(0)
    shown = outwards(value.value * factor, value.low * factor, value.high * factor).value
    return shown if -shown.as_tuple().exponent <= places else rounded(float(shown), places)  # type: ignore[operator]


def _row(part: Part, number: Decimal, places: int, factor: float) -> SumRow:
    value = part.number.value
    interval = ""
    if isinstance(value, Estimate) and value.n_launches > 1 and value.low > float("-inf") and value.high < float("inf"):
        low, high = rounded(value.low * factor, places, "down"), rounded(value.high * factor, places, "up")
        interval = f"[{written(min(low, number))}, {written(max(high, number))}]"  # a remainder of rounding is inside too
    sure = not isinstance(value, Estimate) or not value.low <= 0.0 <= value.high
    return SumRow(text=part.text, number=written(number), interval=interval, size=float(number), role=part.role, sure=sure)
