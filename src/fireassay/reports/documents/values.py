"""How are numbers written in JSON?

JSON has no infinity: an end of an interval that the data do not bound is null.
"""

from __future__ import annotations

import math
from typing import Any

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.reports.documents.json_object import JsonObject, key


def is_measured(value: Any) -> bool:
    """Whether there is a number."""
    return isinstance(value, Estimate)


def is_absent(value: Any) -> bool:
    """Whether there is none."""
    return isinstance(value, Absent)


def _bounded(value: Estimate) -> bool:
    return all(map(math.isfinite, (value.value, value.low, value.high)))


class Measured(JsonObject):
    """A number with its interval, or why there is none."""

    measured: bool = key("false: no number; `reason` and `detail` say why", is_measured)
    value: float | None = key("only if measured; null if it is infinite", when=is_measured)
    low: float | None = key("only if measured; lower end of the interval, null where the data do not bound it", when=is_measured)
    high: float | None = key("only if measured; upper end of the interval, null where the data do not bound it", when=is_measured)
    bounded: bool = key("only if measured; whether value, low and high are all finite", _bounded, when=is_measured)
    confidence: float = key("only if measured; 0..1, 1 for a complete count", when=is_measured)
    n_launches: int = key("only if measured; independent launches behind the value", when=is_measured)
    n_trials: int = key("only if measured; repeated units inside those launches", when=is_measured)
    method: str = key("only if measured; how value and interval were made", when=is_measured)
    signature: str = key("only if measured; two values may be compared only if their signatures agree", when=is_measured)
    launch_values: list[float] = key("only if measured; one for each launch or block, may be empty", when=is_measured)
    reason: str = key("only if not measured: `not_measured`, `insufficient`, `not_applicable`, `undefined` or `refused`", when=is_absent)
    detail: str = key("only if not measured; what is missing, and how to obtain it", when=is_absent)


class BriefMeasured(JsonObject):
    """The same without its making."""

    measured: bool = Measured.measured
    value: float | None = Measured.value
    low: float | None = Measured.low
    high: float | None = Measured.high
    unit: str = key("only if measured; of the three", when=is_measured)
    reason: str = Measured.reason
    detail: str = Measured.detail


class Bounds(JsonObject):
    """A number between two others."""

    value: float | None = key("the ratio or difference")
    low: float | None = key("lower end of its interval; null: not bounded")
    high: float | None = key("upper end of it")


class Difference(JsonObject):
    """How far two sides are apart."""

    scale: str | None = key("`ratio` or `difference`; null: not compared by numbers")
    value: float | None = Bounds.value
    low: float | None = Bounds.low
    high: float | None = Bounds.high
    p_value: float | None = key("of no change")
    minimum_detectable_effect: float | None = key("relative, at 80 % power")
    method: str | None = key("how the interval was made")
