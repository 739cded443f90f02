"""How are raw values of one launch shown?  Percentiles without intervals, three digits, and the command that brings a verdict.

A percentile is the nearest-rank value; one that no value lies beyond is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.format import given, number
from fireassay.reports.page import Cell, Head, Next

SHARES: Final = (0.5, 0.9, 0.99)
DIGITS: Final = 3


def for_both(command: str) -> Next:
    """The same work with what a verdict needs."""
    return Next(reason="one launch: no interval and no verdict. For both", command=command)


def shares(unit: str = "") -> tuple[Head, ...]:
    """The heads of `percentiles`."""
    return tuple(Head(text=f"p{given(share * 100)}{unit}") for share in SHARES)


def percentiles(seconds: Sequence[float]) -> Iterator[Cell]:
    """Of ascending times, in milliseconds; None where no value lies beyond."""
    for share in SHARES:
        rank = math.ceil(share * len(seconds))
        yield None if rank >= len(seconds) and share > 0.5 else digits(seconds[rank - 1] * 1e3)


def digits(value: float) -> str:
    """Three digits, or all before the point: a raw value has no interval to say how many are right."""
    before = 1 + math.floor(math.log10(abs(value))) if value else 1
    return number(value, max(0, DIGITS - before))
