"""What must a gate's file declare?

A file holds a family, `GATES`, or one `GATE` named after it. A gate compares an estimate with a threshold fixed before the run. PASS and FAIL
need the whole interval on one side of the threshold; an interval that straddles it is INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count, limit_text, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.verdict.types import GateResult, Status

MIN_LAUNCHES = 3  # fewer give no useful interval between launches (docs/methodology.md)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A gate's name, question and check; `check` returns no results if the experiment does not set the gate."""

    name: str
    question: str
    check: Callable[[RecordData, Results], tuple[GateResult, ...]]
    about: tuple[str, ...] = LAUNCHED  # kinds of record it applies to


def threshold(gate: str, configuration: str, title: str, value: Value, bound: float, side: Literal["at least", "at most"]) -> GateResult:
    """Compare the whole interval with the bound, which has the unit of the value."""
    if isinstance(value, Absent):
        status: Status = "NOT_MEASURED" if value.reason in ("not_measured", "not_applicable") else "INCONCLUSIVE"
        return GateResult(gate=gate, configuration=configuration, status=status, sentence=f"{title}: {value.detail}")
    limit, shown = limit_text(bound, value.unit), show(value, beside=(bound,))
    status = _status(value.low, value.high, bound, side)
    few = value.n_launches < MIN_LAUNCHES and value.confidence < 1.0  # two launches may agree by chance
    if few:
        status = "INCONCLUSIVE"
    words = {"PASS": "meets", "FAIL": "misses", "INCONCLUSIVE": "may or may not meet"}[status]
    sentence = f"{title} {shown.full} {words} the gate of {side} {limit}"
    if few:
        sentence += f"; {too_few(value.n_launches)}"
    return GateResult(gate=gate, configuration=configuration, status=status, sentence=sentence)


def too_few(launches: int) -> str:
    """Why so few launches decide nothing."""
    verb = "carries" if launches == 1 else "carry"
    return f"{count(launches, 'launches')} {verb} no verdict, use at least {MIN_LAUNCHES}"


def _status(low: float, high: float, bound: float, side: str) -> Literal["PASS", "FAIL", "INCONCLUSIVE"]:
    if side == "at least":
        return "PASS" if low >= bound else "FAIL" if high < bound else "INCONCLUSIVE"
    return "PASS" if high <= bound else "FAIL" if low > bound else "INCONCLUSIVE"
