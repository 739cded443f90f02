"""How are the parts of a sum written so that they add up as printed?

All parts share one decimal.  The last part is what is not explained, and takes what rounding leaves over.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.rounding import rounded, significant, written
from fireassay.reports.page import Number, Part, Sum

DIGITS: Final = 3  # significant digits of the total


@dataclass(frozen=True, kw_only=True)
class Row:
    """A printed part: its text, its number, its interval (empty: none), and its size in the sum's unit."""

    text: str
    number: str
    interval: str
    size: float
    role: str


@dataclass(frozen=True, kw_only=True)
class Written:
    """A printed sum: start + parts = total."""

    start: Row
    parts: tuple[Row, ...]
    total: Row


def written_sum(block: Sum) -> Written:
    """The parts as printed; those without a number are left out."""
    places = max(0, significant(_size(block.total.number), DIGITS))
    start, total = _round(block.start.number, places), _round(block.total.number, places)
    known = [part for part in block.parts if isinstance(part.number.value, Estimate)]
    numbers = [_round(part.number, places) for part in known]
    if numbers:
        numbers[-1] = total - start - sum(numbers[:-1], Decimal(0))
    rows = tuple(_row(part, number, places) for part, number in zip(known, numbers, strict=True))
    return Written(start=_row(block.start, start, places), parts=rows, total=_row(block.total, total, places))


def _size(number: Number) -> float:
    value = number.value
    return value.value * number.shown.scale.factor if isinstance(value, Estimate) else 0.0


def _round(number: Number, places: int) -> Decimal:
    return rounded(_size(number), places)


def _row(part: Part, number: Decimal, places: int) -> Row:
    value, factor = part.number.value, part.number.shown.scale.factor
    interval = ""
    if isinstance(value, Estimate) and value.n_launches > 1 and value.low > float("-inf") and value.high < float("inf"):
        interval = f"[{written(rounded(value.low * factor, places, 'down'))}, {written(rounded(value.high * factor, places, 'up'))}]"
    return Row(text=part.text, number=written(number), interval=interval, size=float(number), role=part.role)
