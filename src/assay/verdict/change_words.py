"""How is a change said?  A word for the direction, the change with its interval, and what could have been found.

A change between a half and double is said in per cent, beyond that as "times"; where only a difference exists, in the
metric's own unit.  Numbers become text in `assay.metrics.format` alone.
"""

from __future__ import annotations

import math
from typing import Final

from assay.metrics.base import Metric
from assay.metrics.estimate import Absent, Estimate
from assay.metrics.format import count, reading, show
from assay.units import FRACTION, RATIO
from assay.verdict.compared import Change

EXPLORATORY: Final = "EXPLORATORY"


def direction_word(metric: Metric, verdict: str) -> str:
    """faster, slower, cheaper, dearer, less energy ...: what "higher" or "lower" means of this metric."""
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
    """The change with its interval: "+4.8 % [3.1, 6.5]"; empty where there is none."""
    if change.low is None or change.high is None:
        return ""
    if change.ratio is None:
        return (
            f"difference {_signed(change.difference or 0.0, change.low, change.high, _unit(change), _launches(change))}"
        )
    if 0.5 < change.ratio < 2.0:
        low = change.low - 1.0 if change.low > 0.0 else -math.inf  # a ratio of 0 at the lower end bounds nothing
        return _signed(change.ratio - 1.0, low, change.high - 1.0, FRACTION, _launches(change))
    shown = show(_dressed(change.ratio, change.low, change.high, RATIO, _launches(change)))
    return f"{shown.text} times {shown.interval}"


def detectable_text(change: Change) -> str:
    """The smallest change that this comparison would have found in 80 % of cases; said always."""
    effect = change.minimum_detectable_effect
    if effect is None or not math.isfinite(effect):
        return "could have found nothing with so few launches"
    return f"could have found {reading(effect, FRACTION if change.ratio is not None else _unit(change))}"


def needed_text(change: Change) -> str:
    """How many launches would decide; empty where that is not the question or not known."""
    if change.launches_needed is None:
        return ""
    return f"about {count(change.launches_needed, 'launches')} a side would decide"


def probability_text(p: float | None) -> str:
    """A p-value as people read it."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {reading(p, '')}"


def sentence(change: Change, title: str, baseline: str, *, exploratory: bool, why: str = "") -> str:
    """One sentence about one metric."""
    word = f"{change.word} ({EXPLORATORY})" if exploratory else change.word
    head = f"{title} of {change.side} against {baseline} at {change.configuration}: {word}"
    parts = [change_text(change), why, detectable_text(change) if change.low is not None else "", needed_text(change)]
    return "; ".join([head, *(part for part in parts if part)])


def _signed(value: float, low: float, high: float, unit: str, launches: int) -> str:
    if unit == FRACTION:  # what is left of rounding is no change
        value, low, high = (round(one, 9) + 0.0 if math.isfinite(one) else one for one in (value, low, high))
    shown = show(_dressed(value, low, high, unit, launches))
    plus = "+" if value > 0.0 and shown.text.strip("0.% ") else ""
    return f"{plus}{shown.text} {shown.interval if shown.interval[:1] == '[' else f'({shown.interval})'}"


def _dressed(value: float, low: float, high: float, unit: str, launches: int) -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit=unit,
        confidence=0.95,
        n_launches=launches,
        n_trials=0,
        method="",
        signature="",
    )


def _launches(change: Change) -> int:
    sides = (change.baseline, change.value)
    return min((0 if isinstance(one, Absent) else one.n_launches for one in sides), default=0)


def _unit(change: Change) -> str:
    return next((one.unit for one in (change.value, change.baseline) if isinstance(one, Estimate)), "")
