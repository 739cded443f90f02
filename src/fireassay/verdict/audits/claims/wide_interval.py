"""Does the published interval support the claim?

An interval wider than its value shows that almost nothing was measured; the interval of a gain that includes "no change" leaves the gain
open; one that is open on the side that matters bounds nothing; two systems with values inside one another's intervals are not
distinguished. A negligible change can be shown too: an interval within 3 % of no change supports equality (an equivalence test with that
margin). Records give every estimate an interval and compare by tests, so this concerns claims.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Final

from fireassay.estimates.format import given
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.stated import kinds
from fireassay.verdict.stated.gains import gain, is_efficiency, same_quantity
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Interval, Number

EQUAL: Final = 0.03  # relative change treated as no change
COMPARES: Final = (
    r"\b(faster|slower|higher|lower|better|worse|more|less|fewer|cheaper|outperform\w*|beats?|improv\w*|reduc\w*|increas\w*)\b"
)
REMEDY: Final = "measure in more launches until the interval decides it, or claim no more than the interval shows"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Intervals that leave the claim undecided."""
    findings = [finding for number in said.number if not kinds.is_quality(number) for finding in _undecided(number)]
    return (*findings, *_overlapping(said))


def _undecided(number: Number) -> list[Finding]:
    interval = number.interval
    if interval is None or interval.kind in ("standard_deviation", "range"):
        return []
    if interval.low is None or interval.high is None:
        return _one_sided(number, interval)
    words = _wide(number, interval.low, interval.high) or _no_change(number, interval.low, interval.high)
    if not words:
        return []
    text = f"number.interval is {given(interval.low)} to {given(interval.high)} around {given(number.value)}: {words}"
    return [found("interval_undecided", "warning", number, text, REMEDY, "launch_values")]


def _wide(number: Number, low: float, high: float) -> str:
    """Wider than the value itself; a change in percent is treated as a ratio."""
    changes = (
        [gain(number, end) for end in (low, number.value, high)] if kinds.unit_of(number).kind == "percent" else [low, number.value, high]
    )
    if any(end is None for end in changes):
        return ""
    first, value, last = (end for end in changes if end is not None)
    return "it is wider than the value itself" if abs(last - first) > abs(value) > 0.0 else ""


def _no_change(number: Number, low: float, high: float) -> str:
    """Whether a gain's interval includes 1."""
    ends = [end for end in (gain(number, low), gain(number, high)) if end is not None]
    if len(ends) < 2 or is_efficiency(number):
        return ""
    worst, best = min(ends), max(ends)
    if not worst <= 1.0 <= best or (worst >= 1.0 - EQUAL and best <= 1.0 + EQUAL):
        return ""
    return "it includes no change"


def _one_sided(number: Number, interval: Interval) -> list[Finding]:
    """A bound on the irrelevant side: from above for a gain or a rate, from below for a time."""
    better_low = kinds.lower_is_better(number)
    if (interval.high is not None) is better_low:
        return []
    side = "below" if better_low else "above"
    words = f"number.interval bounds {given(number.value)} only from {side}, and the claim is that it is {'low' if better_low else 'high'}"
    return [found("interval_open", "warning", number, words, "publish the other end of the interval as well", "launch_values")]


def _overlapping(said: Claim) -> list[Finding]:
    """Systems ranked in the claim's words although their intervals include one another's values."""
    if not re.search(COMPARES, said.claim.text, flags=re.IGNORECASE):
        return []
    return [
        _not_apart(number, other)
        for number, other in itertools.combinations([n for n in said.number if kinds.is_speed(n) and n.of is not None], 2)
        if number.of != other.of
        and number.workers == other.workers
        and same_quantity(number.model_copy(update={"of": other.of}), other)
        and _holds(number, other)
        and _holds(other, number)
    ]


def _holds(number: Number, other: Number) -> bool:
    interval, factor = number.interval, kinds.unit_of(other).factor / kinds.unit_of(number).factor
    if interval is None or interval.kind != "confidence":
        return False
    low, high = (-math.inf if interval.low is None else interval.low, math.inf if interval.high is None else interval.high)
    apart = abs(number.value - other.value * factor) > EQUAL * 1e-6 * abs(number.value)
    return apart and low <= other.value * factor <= high


def _not_apart(number: Number, other: Number) -> Finding:
    words = f"{number.label} is {given(number.value)}, {other.label} {given(other.value)}, and each lies within the other's interval"
    return found("intervals_overlap", "warning", other, words, REMEDY, "launch_values")


AUDIT = Audit(
    name="wide_interval",
    title="inconclusive interval",
    question="Does the published interval support the claim?",
    examine=claims_only,
    claim=claim,
)
