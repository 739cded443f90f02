"""How are limits and ticks of an axis found, and how far does it reach?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.rounding import written
from fireassay.reports.charts.model import Axis

LOG_FROM: Final = 10.0  # a larger ratio gets a logarithmic axis
REACH: Final = 4.0  # multiple of the largest value beyond which an interval is cut, to keep the rest readable
NICE: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


def written_tick(value: float) -> str:
    """A tick as text, with a true minus and separators."""
    return written(Decimal(f"{value:.4g}")) if abs(value) < 1e6 else f"{value:g}"


def ticks(low: float, high: float, most: int = 5) -> tuple[tuple[float, str], ...]:
    """At most `most` round ticks within the limits."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return ((low, written_tick(low)),)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next((m * power for m in NICE if span / (m * power) <= most), 10.0 * power)
    first = math.ceil(low / step - 1e-9)
    values = [round(index * step, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]
    return tuple((value, written_tick(value)) for value in values)


def log_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """1, 2 and 5 times the powers of ten within the limits; the powers alone if that is too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 30 else (1, 3) if high / low < 1000 else (1,)
    values = [tick for power in powers for m in steps if low <= (tick := float(f"{m * 10.0**power:.6g}")) <= high]
    return tuple((value, written_tick(value)) for value in values)


def linear(low: float, high: float, title: str = "", *, most: int = 5, grid: bool = True) -> Axis:
    """An axis between limits, with round ticks."""
    return Axis(low=low, high=high, ticks=ticks(low, high, most), title=title, grid=grid)


def logarithmic(low: float, high: float, title: str = "", *, grid: bool = True) -> Axis:
    """A logarithmic axis between limits."""
    return Axis(low=low, high=high, log=True, ticks=log_ticks(low, high), title=title, grid=grid)


def spanned(values: Sequence[float], low: float, high: float, title: str = "", *, grid: bool = True) -> Axis:
    """An axis from `low` to `high`; a logarithmic one, without zero, if the values span more than a decade."""
    if min(values) > 0 and max(values) / min(values) > LOG_FROM:
        return logarithmic(low if low > 0 else min(values) / 1.5, high * 1.1, title, grid=grid)
    return linear(low, high, title, grid=grid)


def rows_axis(names: Iterable[str], row: int = 44) -> Axis:
    """A row for each name."""
    return Axis(names=tuple(names), row=row)


def levels_axis(levels: Sequence[float], title: str, reach: float = 0.0) -> Axis:
    """An axis with a tick at each level whose label fits."""
    low, high = min(levels), max(*levels, reach)
    log = low > 0 and high / low > LOG_FROM
    scaled = math.log if log else float
    ends = (low / 1.25, high * 1.25) if log else (low - max(0.08 * (high - low), 0.35), high + max(0.08 * (high - low), 0.35))
    width = scaled(ends[1]) - scaled(ends[0]) if ends[0] > 0 or not log else 1.0
    kept: list[float] = []
    for level in sorted(set(levels), reverse=True):
        if not kept or (scaled(kept[-1]) - scaled(level)) / width > 0.05 + 0.012 * len(written_tick(level)):
            kept.append(level)
    return Axis(low=ends[0], high=ends[1], log=log, ticks=tuple((x, written_tick(x)) for x in reversed(kept)), title=title, grid=False)


def top_of(values: Iterable[Estimate], factor: float, margin: float = 1.08) -> float:
    """Upper end of an axis for all values, launch dots, and interval ends up to `REACH`."""
    listed = list(values)
    reach = REACH * max((value.value for value in listed), default=0.0)
    largest = 0.0
    for value in listed:
        ends = [value.value, *value.launch_values, *(e for e in (value.low, value.high) if math.isfinite(e))]
        if value.n_launches <= 1:
            ends = [value.value]
        largest = max(largest, *(min(end, max(reach, value.value)) * factor for end in ends))
    return largest * margin if largest > 0 else 1.0
