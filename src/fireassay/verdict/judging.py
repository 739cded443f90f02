"""What must a kind declare so that its records can be judged?

`kinds/<name>/judging.py` holds one JUDGING. Metrics, audits and gates run alike for every kind; kinds differ in the conclusions that
they draw from this evidence. Pure.

Which statuses hold for a record as a whole, whatever it measured?

May a configuration be recommended?

How does each configuration stand in each of the four dimensions?

A dimension that was not measured is NOT_MEASURED, with the reason; it is never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import show
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended_words
from fireassay.metrics.metric import Results
from fireassay.metrics.training.correctness import REPLICAS_AGREE, SAMPLES_DUPLICATED, SAMPLES_LOST
from fireassay.verdict.cost_words import cost_of_a_run, footprint, parts_of_cost, values_at
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
NO_ENVIRONMENT: RuleAnswer = ("not kept", "the record holds no environment", "measure with assay, which captures it")


@dataclass(frozen=True, kw_only=True)
class Methods:
    """How a kind measures, where this differs from timing the steps of workers."""

    answers: Mapping[int, Callable[[RecordData, Results], RuleAnswer]] = field(default_factory=dict)  # rule of Hoefler and Belli -> answer
    launches: str = "fresh processes, in random order, with seeds shared within a round"  # source of variation
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


# Gates on the correctness of the result; the others judge whether it is worth its cost.
RESULT_GATES = ("quality", "recovery")


def forced(findings: Sequence[Finding], gates: Sequence[GateResult] = ()) -> Status | None:
    """INVALID: an audit found the record inadmissible. FAIL: a result is wrong or degraded, or a fault was not survived, at any configuration.

    None: the numbers decide.
    """
    severities = {finding.severity for finding in findings}
    if "invalid" in severities:
        return "INVALID"
    if "fail" in severities or any(gate.gate in RESULT_GATES and gate.status == "FAIL" for gate in gates):
        return "FAIL"
    return None


def admissible(configuration: str, findings: Sequence[Finding], gates: Sequence[GateResult]) -> Status:
    """PASS if audits found nothing wrong and every gate passes; else the worst status."""
    if any(f.severity in ("invalid", "fail") and f.configuration in (None, configuration) for f in findings):
        return "FAIL"
    statuses = {gate.status for gate in gates if gate.configuration == configuration}
    if "FAIL" in statuses:
        return "FAIL"
    return "INCONCLUSIVE" if statuses & {"INCONCLUSIVE", "NOT_MEASURED"} else "PASS"


def dimensions(evidence: Evidence) -> Vector:
    """configuration -> dimension -> status and sentence."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    return {
        name: {
            "correctness": _correctness(measured, results, name, findings, _gates_of(gates, name)),
            "performance": _performance(measured, results, name, findings, _gates_of(gates, name)),
            "cost": _cost(measured, results, name, _gates_of(gates, name)),
            "reliability": _reliability(measured, results, name, _gates_of(gates, name)),
        }
        for name in measured.configurations
    }


def _gates_of(gates: Sequence[GateResult], configuration: str) -> dict[str, GateResult]:
    return {gate.gate: gate for gate in gates if gate.configuration == configuration}


def _correctness(
    measured: RecordData, results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]
) -> DimensionResult:
    wrong = [f for f in findings if f.configuration == name and f.severity == "fail"]
    if wrong:
        return DimensionResult(status="FAIL", sentence="; ".join(f"{f.rule}: {f.evidence}" for f in wrong))
    checked = _integrity(results, name)
    if "quality" not in gates:
        return DimensionResult(status="NOT_MEASURED", sentence=f"quality was not measured; {checked}")
    return DimensionResult(status=gates["quality"].status, sentence=f"{gates['quality'].sentence}; {checked}")


def _integrity(results: Results, name: str) -> str:
    """Other correctness checks, made and missing."""
    lost, twice, agree = (results[key][name] for key in (SAMPLES_LOST.name, SAMPLES_DUPLICATED.name, REPLICAS_AGREE.name))
    parts = []
    if isinstance(lost, Estimate) and isinstance(twice, Estimate):
        parts.append("every sample used once per epoch")
    else:
        parts.append("samples not checked")
    if isinstance(agree, Estimate):
        parts.append(f"replicas equal at {show(agree).text} of the hashed steps")
    elif agree.reason != "not_applicable":
        parts.append("replicas not checked")
    gradient = results.get("gradient_error", {}).get(name)
    if isinstance(gradient, Estimate):
        parts.append(f"first gradient within {gradient.value:.1e} of one worker's")
    return ", ".join(parts)


def _performance(
    measured: RecordData, results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]
) -> DimensionResult:
    speedup = results["speedup"][name]
    if isinstance(speedup, Absent):
        return DimensionResult(status="NOT_MEASURED", sentence=speedup.detail)
    bad = [f for f in findings if f.configuration == name and f.severity == "invalid"]
    if bad:
        return DimensionResult(status="INVALID", sentence="; ".join(f.evidence for f in bad))
    base = name == measured.base  # its efficiency is 1 by definition, its deadline is a gate like any other
    relevant = [gates[key] for key in ("efficiency", "deadline") if key in gates and not (base and key == "efficiency")]
    words = [_base_time(results, name) if base else f"speedup {show(speedup).full}", *(g.sentence for g in relevant)]
    return DimensionResult(status=_worst([gate.status for gate in relevant]), sentence="; ".join(words))


def _base_time(results: Results, name: str) -> str:
    if isinstance(call := results["trial_time"][name], Estimate):
        return f"time of a call {show(call).full}"
    time = results["step_time"][name]
    if isinstance(time, Absent):
        return f"the base: wall time {show(results['wall_time'][name]).full}"
    return f"the base: step time {show(time).full}"


def _cost(measured: RecordData, results: Results, name: str, gates: Mapping[str, GateResult]) -> DimensionResult:
    cost, used = results["cost"][name], footprint(values_at(results, name))
    joules = used or "energy not measured"
    if isinstance(cost, Absent):
        status: Status = "MEASURED" if used else "NOT_MEASURED"
        why = f"cost: {cost.detail}"
        return DimensionResult(status=status, sentence=f"{joules}; {why}" if used else f"{why}; {joules}")
    if "budget" in gates:
        parts = parts_of_cost(values_at(results, name))
        sentence = "; ".join((gates["budget"].sentence, *((parts,) if parts else ()), joules))
        return DimensionResult(status=gates["budget"].status, sentence=sentence)
    ended = ended_words(measured)
    whole = cost_of_a_run(values_at(results, name), f"launch, {ended}" if ended else "run")
    return DimensionResult(status="MEASURED", sentence=f"{whole}{', ' if used else '; '}{joules}")


def _reliability(measured: RecordData, results: Results, name: str, gates: Mapping[str, GateResult]) -> DimensionResult:
    if "recovery" in gates:
        return DimensionResult(status=gates["recovery"].status, sentence=gates["recovery"].sentence)
    value = results["recovery_time"][name]
    detail = value.detail if isinstance(value, Absent) else "no fault launch ended"
    return DimensionResult(status="NOT_MEASURED", sentence=detail)


def _worst(statuses: Sequence[Status]) -> Status:
    order: tuple[Status, ...] = ("INVALID", "FAIL", "INCONCLUSIVE", "NOT_MEASURED")
    return next((status for status in order if status in statuses), "PASS")
