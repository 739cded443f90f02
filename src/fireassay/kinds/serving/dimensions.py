"""What is the status of each load in each of the four dimensions?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving.phrases import COSTS, ENERGIES, is_known, number_phrases, quoted, value_of
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.answers import ANSWERS_IDENTICAL, CANARIES_ANSWERED
from fireassay.metrics.serving.faults import ERROR_RATE
from fireassay.metrics.serving.latency import E2E_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.verdict.evidence.answer_agreement import Agreement, agreements, graded
from fireassay.verdict.gates.gate import MIN_LAUNCHES, too_few
from fireassay.verdict.judging import Evidence, Vector
from fireassay.verdict.types import DimensionResult, Finding, GateResult, Status

MEASURED: Final = (OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name, E2E_P50.name)  # nothing was measured if all of these are missing


def gated(gates: Sequence[GateResult]) -> bool:
    """True if any gate decides about a load; recovery is judged separately."""
    return any(gate.gate != "recovery" for gate in gates)


def unmeasured(measured: RecordData, results: Results) -> list[str]:
    """Configurations without a number from enough launches, with the reason."""
    gaps = []
    for name in measured.configurations:
        values = [results.get(metric, {}).get(name) for metric in MEASURED]
        known = [value for value in values if isinstance(value, Estimate)]
        if not known:
            why = next((value.detail for value in values if isinstance(value, Absent)), "nothing was measured")
            gaps.append(f"{name}: {why}")
        elif known[0].n_launches < MIN_LAUNCHES:
            gaps.append(f"{name}: {too_few(known[0].n_launches)}")
    return gaps


def dimensions(evidence: Evidence) -> Vector:
    """configuration -> dimension -> status and sentence."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    vector: dict[str, Mapping[str, DimensionResult]] = {}
    grades = agreements(measured)
    for name in measured.configurations:
        relevant = [finding for finding in findings if finding.configuration == name]
        of_gates = {gate.gate: gate for gate in gates if gate.configuration == name}
        vector[name] = {
            "correctness": _correctness(results, name, relevant, of_gates, grades.get(name)),
            "performance": _performance(results, name, findings, of_gates),
            "cost": _cost(results, name, of_gates),
            "reliability": _reliability(results, name, relevant, of_gates),
        }
    return vector


def _correctness(
    results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult], grade: Agreement | None
) -> DimensionResult:
    wrong = [finding for finding in findings if finding.severity == "fail"]
    if wrong:
        return DimensionResult(status="FAIL", sentence="; ".join(f"{f.rule}: {f.evidence}" for f in wrong))
    checks = [f"{value_of(results, metric, name)} {words}" for metric, words in CHECKS.items() if is_known(results, metric, name)]
    checks += [f"agreement of equal prompts: {graded(grade)}"] if grade is not None else []
    doubts = [
        f.evidence
        for f in findings
        if f.rule in ("lengths_not_as_asked", "answers_repeat", "agreement_not_shown") and f.severity == "warning"
    ]
    if "quality" in gates:
        sentence = "; ".join((gates["quality"].sentence, *checks, *doubts))
        return DimensionResult(status=gates["quality"].status, sentence=sentence)
    if not checks:
        unchecked = "; ".join(("answers were not checked: no reference answers, no canaries, no prompts for every replica", *doubts))
        return DimensionResult(status="NOT_MEASURED", sentence=unchecked)
    return DimensionResult(status="PASS", sentence="; ".join(("quality was not measured", *checks, *doubts)))


# Metrics of correctness shown in addition to quality, and their wording.
CHECKS: Final[Mapping[str, str]] = {
    CANARIES_ANSWERED.name: "of the canaries came back with their nonce",
    ANSWERS_IDENTICAL.name: "of the repeated prompts had one answer",
}


def _performance(results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]) -> DimensionResult:
    bad = [f for f in findings if f.severity == "invalid" and f.configuration in (None, name)]
    if bad:
        return DimensionResult(status="INVALID", sentence="; ".join(f.evidence for f in bad))
    numbers = list(number_phrases(results, name))
    if not numbers:
        absent = results.get(E2E_P50.name, {}).get(name)
        why = absent.detail if isinstance(absent, Absent) else "no latency was measured"
        return DimensionResult(status=gates["objectives"].status if "objectives" in gates else "NOT_MEASURED", sentence=why)
    if "objectives" in gates:
        sentence = "; ".join((gates["objectives"].sentence, *numbers))
        return DimensionResult(status=gates["objectives"].status, sentence=sentence)
    few = next((value.n_launches for metric in MEASURED if isinstance(value := results.get(metric, {}).get(name), Estimate)), 0)
    if few < MIN_LAUNCHES:
        return DimensionResult(status="INCONCLUSIVE", sentence="; ".join((*numbers, too_few(few))))
    return DimensionResult(status="PASS", sentence="; ".join((*numbers, "no objective was requested")))


def _cost(results: Results, name: str, gates: Mapping[str, GateResult]) -> DimensionResult:
    costs = [quoted(results, metric, name) for metric in COSTS[:3] if is_known(results, metric, name)]
    energy = next((metric for metric in ENERGIES if is_known(results, metric, name)), None)
    joules = quoted(results, energy, name) if energy else "energy not measured"
    if "budget" in gates:
        return DimensionResult(status=gates["budget"].status, sentence="; ".join((gates["budget"].sentence, *costs, joules)))
    if costs:
        return DimensionResult(status="PASS", sentence="; ".join((*costs, joules)))
    absent = next((v for metric in COSTS if isinstance(v := results.get(metric, {}).get(name), Absent)), None)
    why = f"cost: {absent.detail}" if absent is not None else "cost was not measured"
    return DimensionResult(status="PASS" if energy else "NOT_MEASURED", sentence=f"{why}; {joules}")


def _reliability(results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]) -> DimensionResult:
    errors = [value_of(results, ERROR_RATE.name, name) + " of the requests failed"] if is_known(results, ERROR_RATE.name, name) else []
    if "recovery" in gates:
        return DimensionResult(status=gates["recovery"].status, sentence="; ".join((gates["recovery"].sentence, *errors)))
    if not errors:
        return DimensionResult(status="NOT_MEASURED", sentence="no request was due, and no fault was injected")
    many = any(f.rule in ("server_errors", "answers_cut_off") and f.severity == "warning" for f in findings)
    status: Status = "INCONCLUSIVE" if many else "PASS"
    return DimensionResult(status=status, sentence="; ".join((*errors, "no fault was injected")))
