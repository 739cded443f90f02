"""What must a kind declare so that its records can be judged?

`kinds/<name>/judging.py` holds one JUDGING. Metrics, audits and gates run alike for every kind; kinds differ in the conclusions that
they draw from this evidence. Pure.

Which statuses hold for a record as a whole, whatever it measured?

May a configuration be recommended?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.types import DimensionResult, Finding, GateResult, LayerResult, Recommendation, Status, Verdict

Vector = Mapping[str, Mapping[str, DimensionResult]]  # configuration -> dimension -> result
Layers = Mapping[str, tuple[LayerResult, ...]]  # configuration -> its layers of correctness


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A record's metrics, findings and gates, before any conclusion."""

    data: RecordData
    results: Results
    findings: tuple[Finding, ...]
    gates: tuple[GateResult, ...]


Answer = Literal["kept", "in part", "not kept", "not applicable"]
RuleAnswer = tuple[Answer, str, str]  # answer, evidence, remedy
NO_ENVIRONMENT: RuleAnswer = ("not kept", "the record holds no environment", "run with assay run, which captures it")


@dataclass(frozen=True, kw_only=True)
class Methods:
    """How a kind measures, where this differs from timing the steps of workers."""

    answers: Mapping[int, Callable[[RecordData, Results], RuleAnswer]] = field(default_factory=dict)  # rule of Hoefler and Belli -> answer
    launches: str = "fresh processes, in random order, with seeds shared within a block"  # source of variation
    seeded: bool = True  # launches.seed fixes seeds of the workload
    run_times: Literal["by workers", "per launch", "none"] = "by workers"  # in the artifact form


@dataclass(frozen=True, kw_only=True)
class Judging:
    """A kind's rules for drawing conclusions from the evidence."""

    dimensions: Callable[[Evidence], Vector]
    recommend: Callable[[Evidence, Vector], tuple[Recommendation, ...]]  # the recommended configuration first
    status: Callable[[Evidence, tuple[Recommendation, ...]], Status]
    sentence: Callable[[Evidence, Verdict], str]  # given the verdict without its sentence
    layers: Callable[[Evidence], Layers] = lambda _: {}
    methods: Methods = Methods()


def nothing_to_pick(why: str) -> Callable[[Evidence, Vector], tuple[Recommendation, ...]]:
    """For records that compare nothing: says why there is no recommendation."""
    return lambda evidence, vector: (Recommendation(goal="recommended", configuration=None, sentence=why),)


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
