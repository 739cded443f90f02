"""What is the verdict on a load on serving engines?

INVALID: an audit found that something else than the server was measured, or that requests are unaccounted for.
FAIL: answers went to the wrong asker, agreement is below the grade asked for, a fault was not survived, or no load meets the
objectives.  INCONCLUSIVE: the intervals straddle the objectives.  PASS: at least one load is admissible; the largest is recommended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.metrics.base import Results
from assay.metrics.measured import Measured
from assay.verdict.types import DimensionResult, Finding, GateResult, Recommendation, Status, Verdict


def verdict(measured: Measured, results: Results, findings: Sequence[Finding], gates: Sequence[GateResult]) -> Verdict:
    """The whole judgement."""
    status: Status = "INVALID" if any(finding.severity == "invalid" for finding in findings) else "INCONCLUSIVE"
    return Verdict(
        status=status, findings=tuple(findings), gates=tuple(gates), dimensions=_dimensions(measured),
        recommendations=(Recommendation(goal="recommended", configuration=None, sentence="nothing is recommended yet"),),
        sentence=f"{measured.experiment.name}: {status}.",
    )  # fmt: skip


def _dimensions(measured: Measured) -> Mapping[str, Mapping[str, DimensionResult]]:
    one = DimensionResult(status="NOT_MEASURED", sentence="not judged yet")
    return {
        name: dict.fromkeys(("correctness", "performance", "cost", "reliability"), one)
        for name in measured.configurations
    }
