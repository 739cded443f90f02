"""What is a number in assay?

A value with its interval and how it was made, or a typed "not measured". No number exists without its interval, and a
missing number is never 0, NaN or -1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Literal

Reason = Literal["not_measured", "insufficient", "not_applicable", "undefined", "refused"]


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
    method: str = field(repr=False)  # in words: "Student t on log of 5 per-launch medians, paired by block"
    signature: str = field(repr=False)  # "speedup|basis:step|base:workers=1|agg:median|k:5|ci:t-log-paired|v:1"
    launch_values: tuple[float, ...] = field(default=(), repr=False)  # one per launch or block, for the dots in charts

    def __str__(self) -> str:
        return _written(self)

    def _repr_html_(self) -> str:
        return f'<span title="{escape(f"{self.method}. {self.n_launches} launches.")}">{escape(_written(self))}</span>'


@dataclass(frozen=True, kw_only=True)
class Absent:
    """Not measured, with the reason and what would be needed."""

    reason: Reason
    detail: str  # one sentence: what is missing and how to get it

    def __str__(self) -> str:
        return _written(self)

    def _repr_html_(self) -> str:
        return f"<span>{escape(_written(self))}</span>"


Value = Estimate | Absent


def _written(value: Value) -> str:
    """As in reports: "12.3 ms [12.1, 12.5]", or the reason."""
    from fireassay.estimates.format import show
    from fireassay.printable import printable

    return printable(show(value).full)
