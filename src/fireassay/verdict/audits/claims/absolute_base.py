"""What is the ratio relative to, and what is the number's unit?

A speedup without the absolute time or rate of its base cannot be checked, and hides a slow base (Hoefler & Belli, SC'15, rule 1). A number
without a unit is meaningless. Records hold the times of all configurations and every estimate has a unit, so this concerns claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fireassay.estimates.format import given
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.stated.gains import base_workers
from fireassay.verdict.stated.kinds import is_quality, is_relative, is_speed, is_wait, unit_of
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number


def claim(said: Claim) -> Iterator[Finding]:
    """Ratios without the base's own value, numbers without a unit."""
    for number in said.number:
        if is_relative(number) and not _base_is_known(said, number):
            evidence = "the baseline's own time or rate is not given"
            remedy = "publish baseline.value and baseline.unit with the ratio"
            yield found("base_not_absolute", "warning", number, evidence, remedy, "base_value")
        elif not is_relative(number) and not is_quality(number) and number.unit is None and unit_of(number).kind is None:
            words = f"number.value = {given(number.value)} has no unit"
            yield found("unit_missing", "warning", number, words, "give number.unit")


def _base_is_known(said: Claim, number: Number) -> bool:
    base, unit = number.baseline, unit_of(number)
    if base is not None and base.value is not None:
        return base.unit is not None or is_quality(number) or (unit.kind is not None and not unit.is_change)
    return any(_is_the_base(said, number, other) for other in said.number)


def _is_the_base(said: Claim, number: Number, other: Number) -> bool:
    """Whether another published number is the baseline's own time or rate."""
    unit, few = unit_of(other), base_workers(said, number)
    if other is number or not is_speed(other) or unit.kind is None or unit.is_change or is_wait(other) is not is_wait(number):
        return False
    if few is not None and number.workers is not None and few != number.workers:
        return other.workers == few and other.of in (None, number.of)
    return number.of is not None and other.of not in (None, number.of)


AUDIT = Audit(
    name="absolute_base",
    title="base not given in absolute terms",
    question="What is the ratio relative to, and what is the number's unit?",
    examine=claims_only,
    claim=claim,
)
