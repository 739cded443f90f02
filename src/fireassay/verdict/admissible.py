"""May a configuration be recommended?"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.verdict.types import Finding, GateResult, Status

# Gates on the correctness of the result; the others judge whether it is worth its cost.
RESULT_GATES = ("quality", "recovery")


def admissible(configuration: str, findings: Sequence[Finding], gates: Sequence[GateResult]) -> Status:
    """PASS if audits found nothing wrong and every gate passes; else the worst status."""
    if any(f.severity in ("invalid", "fail") and f.configuration in (None, configuration) for f in findings):
        return "FAIL"
    statuses = {gate.status for gate in gates if gate.configuration == configuration}
    if "FAIL" in statuses:
        return "FAIL"
    return "INCONCLUSIVE" if statuses & {"INCONCLUSIVE", "NOT_MEASURED"} else "PASS"
