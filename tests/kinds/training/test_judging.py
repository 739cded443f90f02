"""The verdict on a training: what is required decides, else whether anything can be recommended."""

from __future__ import annotations

import pytest

from fireassay.kinds.training import judging
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import Finding, GateResult, Recommendation, Severity, Status
from tests.verdict.making import good

PICKED = (Recommendation(goal="recommended", configuration="workers=2", sentence=""),)
NOTHING = (Recommendation(goal="recommended", configuration=None, sentence=""),)


def gate(status: Status, configuration: str) -> GateResult:
    return GateResult(gate="efficiency", configuration=configuration, status=status, sentence="")


def finding(severity: Severity) -> Finding:
    return Finding(rule="rule", severity=severity, configuration=None, evidence="", remedy="")


@pytest.mark.parametrize(
    ("findings", "gates", "picks", "expected"),
    [
        ((), (), PICKED, "PASS"),
        ((), (), NOTHING, "INCONCLUSIVE"),
        ((), ("FAIL", "FAIL"), NOTHING, "FAIL"),
        ((), ("PASS", "FAIL"), NOTHING, "INCONCLUSIVE"),
        (("fail",), (), PICKED, "FAIL"),
        (("fail", "invalid"), (), PICKED, "INVALID"),
        (("warning", "note"), (), PICKED, "PASS"),
    ],
)
def test_the_gravest_of_findings_gates_and_recommendation_decides(
    findings: tuple[Severity, ...], gates: tuple[Status, ...], picks: tuple[Recommendation, ...], expected: Status
) -> None:
    data = good(levels=(1, 2)).measured()
    results = tuple(gate(status, name) for status, name in zip(gates, data.configurations, strict=False))
    evidence = Evidence(data=data, results={}, findings=tuple(map(finding, findings)), gates=results)
    assert judging.status(evidence, picks) == expected
