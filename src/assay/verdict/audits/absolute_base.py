"""What is the ratio relative to, and in which unit is the number?

A speedup without the absolute time or rate of its base cannot be checked, and a slow base cannot be seen (Hoefler & Belli, SC'15, rule 1).
A number without a unit is none.  Records hold the times of all configurations and every estimate has a unit, so this concerns claims.
"""

from __future__ import annotations

from assay.spec.claim import Claim, Number
from assay.verdict.audits.base import Audit, claims_only
from assay.verdict.audits.claimed import found, is_quality, is_relative
from assay.verdict.types import Finding


def claim(said: Claim) -> tuple[Finding, ...]:
    """Ratios without the base's own value, numbers without a unit."""
    findings = []
    for number in said.number:
        if is_relative(number) and not _base_is_known(said, number):
            findings.append(found(
                "base_not_absolute", "warning", number, "the baseline's own time or rate is not given",
                "publish baseline.value and baseline.unit with the ratio", "base_value",
            ))  # fmt: skip
        elif not is_relative(number) and not is_quality(number) and number.unit is None:
            findings.append(found("unit_missing", "warning", number, "the number has no unit", "say unit"))
    return tuple(findings)


def _base_is_known(said: Claim, number: Number) -> bool:
    return number.baseline is not None and number.baseline.value is not None and number.baseline.unit is not None


AUDIT = Audit(
    name="absolute_base", title="base not given in absolute terms",
    question="What is the ratio relative to, and in which unit is the number?", examine=claims_only, claim=claim,
)  # fmt: skip
