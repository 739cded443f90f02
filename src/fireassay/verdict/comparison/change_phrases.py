"""How is a change worded: direction, size with interval, and smallest detectable change?

Changes between a half and double are given in per cent, beyond that as "times"; where only a difference exists, in the metric's unit.
No change acts as a limit for rounding: an interval that excludes it is printed so. Only `fireassay.estimates.format` turns numbers into text.
"""

from __future__ import annotations

import math
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import bracketed, count, reading, with_interval
from fireassay.metrics.metric import Metric
from fireassay.stats.comparing.comparison import Difference
from fireassay.units import FRACTION, RATIO
from fireassay.verdict.comparison.types import Change

EXPLORATORY: Final = "EXPLORATORY"


def direction_word(metric: Metric, verdict: str) -> str:
    """faster, slower, cheaper, dearer, less energy ...: the meaning of "higher" or "lower" for this metric."""
    up = verdict == "higher"
    unit = metric.unit.partition("/")[0]
    if metric.unit == "s" or metric.unit == "1/s":
        return "faster" if up == (metric.unit == "1/s") else "slower"
    if "USD" in metric.unit:
        return "dearer" if up == (unit == "USD") else "cheaper"
    if unit in ("J", "B"):
        return f"{'more' if up else 'less'} {'energy' if unit == 'J' else 'memory'}"
    return verdict


def change_text(change: Change) -> str:
    """The change with its interval: "+4.80 % [3.10, 6.50]"; empty without one."""
    return with_interval(*change_parts(change))


def change_column(change: Change) -> tuple[str, str]:
    """The same for a column of a table, where every ratio is in per cent: "+260 %"."""
    if change.ratio is None or change.low is None or change.high is None:
        return change_parts(change)
    low = change.low if change.low > 0.0 else -math.inf
    return _signed(change.ratio - 1.0, low - 1.0, change.high - 1.0, FRACTION, _launches(change))


def change_parts(change: Change) -> tuple[str, str]:
    """The change and its interval, or why it has none; two empty texts without a change."""
    if change.low is None or change.high is None:
        return "", ""
    if change.ratio is None:
        text, interval = _signed(change.difference or 0.0, change.low, change.high, _unit(change), _launches(change))
        return f"difference {text}", interval
    return _ratio(change.ratio, change.low, change.high, _launches(change))


def difference_text(difference: Difference, unit: str = "") -> str:
    """The same for a difference outside of a comparison."""
    return with_interval(*difference_parts(difference, unit))


def difference_parts(difference: Difference, unit: str = "") -> tuple[str, str]:
    """The same in two parts."""
    if difference.scale == "difference":
        return _signed(difference.value, difference.low, difference.high, unit, 2)
    return _ratio(difference.value, difference.low, difference.high, 2)


def _ratio(ratio: float, low: float, high: float, launches: int) -> tuple[str, str]:
    """A ratio in parts: "+4.80 %" and "[3.10, 6.50]", "3.600 times" and "[3.500, 3.700]"."""
    low = low if low > 0.0 else -math.inf  # a lower end of 0 bounds nothing
    if 0.5 < ratio < 2.0:
        return _signed(ratio - 1.0, low - 1.0, high - 1.0, FRACTION, launches)
    text, interval = bracketed(ratio, low, high, RATIO, beside=(1.0,), launches=launches)
    return f"{text} times", interval


def detectable_text(change: Change) -> str:
    """The smallest change that this comparison detects with 80 % power; always printed."""
    effect = change.minimum_detectable_effect
    if effect is None or not math.isfinite(effect):
        return "too few launches to detect any change"
    return f"detectable change {reading(effect, FRACTION if change.ratio is not None else _unit(change), way='up')}"


def needed_text(change: Change) -> str:
    """How many launches would decide; empty if decided or unknown."""
    if change.launches_needed is None:
        return ""
    return f"about {count(change.launches_needed, 'launches')} per side would decide"


def probability_text(p: float | None) -> str:
    """A p-value as text."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {reading(p, '')}"


def sentence(change: Change, title: str, baseline: str, *, exploratory: bool, why: str = "") -> str:
    """One sentence about one metric."""
    word = f"{change.word} ({EXPLORATORY})" if exploratory else change.word
    where = ", ".join(filter(None, (f"{title} of {change.side} against {baseline} at {change.configuration}", occasion_text(change))))
    parts = [allowed_text(change), why, detectable_text(change) if change.low is not None else "", needed_text(change), way_on_text(change)]
    return "; ".join([f"{where}: {word}", *(part for part in parts if part)])


def occasion_text(change: Change) -> str:
    """ "between these two sessions"; empty if they were interleaved."""
    return "" if change.occasion is None else change.occasion.words


def allowed_text(change: Change) -> str:
    """The change with the allowance for sessions.

    "+5.1 % [−31.0, 61.4] with 15 % assumed between sessions (launches alone: +5.10 % [4.02, 6.18])".
    """
    text, occasion = change_text(change), change.occasion
    if not text or occasion is None or not occasion.allowance:
        return text
    alone = difference_text(occasion.launches, _unit(change))
    return f"{text} {occasion.allowance} (launches alone: {alone})"


def way_on_text(change: Change) -> str:
    """What would decide; empty if decided, or if the sides were interleaved."""
    return change.occasion.way_on if change.occasion is not None and change.outcome == "inconclusive" else ""


def _signed(value: float, low: float, high: float, unit: str, launches: int) -> tuple[str, str]:
    if unit == FRACTION:  # a rounding residue is no change
        value, low, high = (round(bound, 9) + 0.0 if math.isfinite(bound) else bound for bound in (value, low, high))
    text, interval = bracketed(value, low, high, unit, launches=launches)
    return f"{'+' if value > 0.0 and text.strip('0.% ') else ''}{text}", interval


def _launches(change: Change) -> int:
    sides = (change.baseline, change.value)
    return min((0 if isinstance(side, Absent) else side.n_launches for side in sides), default=0)


def _unit(change: Change) -> str:
    return next((value.unit for value in (change.value, change.baseline) if isinstance(value, Estimate)), "")
