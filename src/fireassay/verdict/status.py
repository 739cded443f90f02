"""Which statuses hold for a record as a whole, whatever it measured?"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.verdict.types import Finding, GateResult, Status


def forced(findings: Sequence[Finding], gates: Sequence[GateResult] = ()) -> Status | None:
    """INVALID: an audit found the record inadmissible. FAIL: the result is wrong, or a fault was not survived.

    None: the numbers decide.
    """
    severities = {finding.severity for finding in findings}
    if "invalid" in severities:
        return "INVALID"
    if "fail" in severities or any(gate.gate == "recovery" and gate.status == "FAIL" for gate in gates):
        return "FAIL"
    return None
