"""What is a number in assay?

A value with its interval and how it was made, or a typed "not measured". No number exists without its interval, and a
missing number is never 0, NaN or -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

Reason = Literal["not_measured", "insufficient", "not_applicable", "undefined", "refused"]


class Bounded(Protocol):
    """What has a value and an interval."""

    @property
    def value(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value, its interval, and everything that changes its meaning.

    `low` and `high` may be infinite where the data bound the value on one side only (one launch: on neither).
    """

    value: float
    low: float
    high: float
    unit: str
    confidence: float
    n_launches: int
    n_trials: int
    method: str  # in words: "Student t on log of 5 per-launch medians, paired by block"
    signature: str  # "speedup|basis:step|base:workers=1|agg:median|k:5|ci:t-log-paired|v:1"
    launch_values: tuple[float, ...] = ()  # one per launch or block, for the dots in charts

    @classmethod
    def of(cls, interval: Bounded, **fields: Any) -> Estimate:
        """The value and the ends of an interval, with the other fields."""
        return cls(value=interval.value, low=interval.low, high=interval.high, **fields)


@dataclass(frozen=True)
class Absent:
    """Not measured, with the reason and what would be needed."""

    reason: Reason
    detail: str  # one sentence: what is missing and how to get it


Value = Estimate | Absent
