"""What is said of a record as a whole, whatever it measured?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.verdict.types import DimensionResult, Finding, GateResult, Recommendation, Status, Verdict


def forced(findings: Sequence[Finding], gates: Sequence[GateResult] = ()) -> Status | None:
    """INVALID: an audit found the record inadmissible.  FAIL: its result is wrong, or a fault was not survived.  None: its numbers
    decide.
    """
    severities = {finding.severity for finding in findings}
    if "invalid" in severities:
        return "INVALID"
    if "fail" in severities or any(gate.gate == "recovery" and gate.status == "FAIL" for gate in gates):
        return "FAIL"
    return None


def without_choice(
    status: Status,
    findings: Sequence[Finding],
    gates: Sequence[GateResult],
    *,
    why: str,
    dimensions: Mapping[str, Mapping[str, DimensionResult]],
    sentence: str,
) -> Verdict:
    """The verdict on a record that compares nothing, and why there is nothing to recommend."""
    return Verdict(
        status=status,
        findings=tuple(findings),
        gates=tuple(gates),
        dimensions=dimensions,
        sentence=sentence,
        recommendations=(Recommendation(goal="recommended", configuration=None, sentence=why),),
    )
