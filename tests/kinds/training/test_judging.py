"""The verdict on a training: what is required decides, else whether anything can be recommended."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.training import judging
from fireassay.kinds.training.judging import recommend
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import Finding, GateResult, Recommendation, Severity, Status
from tests.verdict.making import good

PICKED = (Recommendation(goal="recommended", configuration="workers=2", sentence=""),)
BASE = (Recommendation(goal="recommended", configuration="workers=1", sentence=""),)
NOTHING = (Recommendation(goal="recommended", configuration=None, sentence=""),)


def gate(status: Status, configuration: str) -> GateResult:
    return GateResult(gate="efficiency", configuration=configuration, status=status, sentence="")


def finding(severity: Severity) -> Finding:
    return Finding(rule="rule", severity=severity, configuration=None, evidence="", remedy="")


@pytest.mark.parametrize(
    ("findings", "gates", "picks", "expected"),
    [
        ((), (), PICKED, "GAIN"),
        ((), (), NOTHING, "INCONCLUSIVE"),
        ((), ("FAIL", "FAIL"), NOTHING, "FAIL"),
        ((), ("PASS", "FAIL"), NOTHING, "INCONCLUSIVE"),
        (("fail",), (), PICKED, "FAIL"),
        (("fail", "invalid"), (), PICKED, "INVALID"),
        (("warning", "note"), (), PICKED, "GAIN"),
        ((), ("PASS", "FAIL"), BASE, "NO_GAIN"),
        ((), ("PASS", "INCONCLUSIVE"), BASE, "INCONCLUSIVE"),
    ],
)
def test_the_gravest_of_findings_gates_and_recommendation_decides(
    findings: tuple[Severity, ...], gates: tuple[Status, ...], picks: tuple[Recommendation, ...], expected: Status
) -> None:
    data = good(levels=(1, 2)).measured()
    results = tuple(gate(status, name) for status, name in zip(gates, data.configurations, strict=False))
    evidence = Evidence(data=data, results={}, findings=tuple(map(finding, findings)), gates=results)
    assert judging.status(evidence, picks) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(1.1, 1.3, "GAIN"), (0.8, 0.95, "NO_GAIN"), (0.8, 1.0, "NO_GAIN"), (0.9, 1.2, "INCONCLUSIVE")]
)
def test_a_count_that_passes_a_low_gate_still_needs_a_gain(low: float, high: float, expected: Status) -> None:
    """An efficiency gate below 1 / p admits a slowdown; nobody should pay for one."""
    data = good(levels=(1, 2)).measured()
    speedup = Estimate(
        value=(low + high) / 2, low=low, high=high, unit="ratio", confidence=0.95, n_launches=3, n_trials=3, method="", signature=""
    )
    results = {"speedup": {"workers=2": speedup}, "throughput": {}, "cost_per_item": {}, "cost": {}}
    gates = tuple(GateResult(gate=name, configuration="workers=2", status="PASS", sentence="") for name in ("quality", "efficiency"))
    evidence = Evidence(data=data, results=results, findings=(), gates=gates)
    assert judging.status(evidence, recommend(evidence)) == expected
