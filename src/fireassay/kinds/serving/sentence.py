"""Which sentence about a load may be quoted, what is its status in each dimension, and how are its numbers worded?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, Shown, count, given, number, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.cost import COST, ENERGY
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.answers import ANSWERS_IDENTICAL, CANARIES_ANSWERED
from fireassay.metrics.serving.cost import (
    COST_PER_GOOD_TOKEN,
    COST_PER_REQUEST,
    COST_PER_TOKEN,
    ENERGY_PER_GOOD_TOKEN,
    ENERGY_PER_REQUEST,
    ENERGY_PER_TOKEN,
)
from fireassay.metrics.serving.faults import ERROR_RATE
from fireassay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TPOT_P50, TPOT_P95, TPOT_P99, TTFT_P50, TTFT_P95, TTFT_P99
from fireassay.metrics.serving.objectives import GOODPUT, SLO_ATTAINMENT
from fireassay.metrics.serving.throughput import ACHIEVED_RATE, INPUT_THROUGHPUT, OFFERED_RATE, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.spec.plan import Configuration
from fireassay.verdict.cost_words import cost_of_a_run, footprint, parts_of_cost, values_at
from fireassay.verdict.evidence.answer_agreement import Agreement, agreements, graded
from fireassay.verdict.gates.gate import MIN_LAUNCHES, too_few
from fireassay.verdict.gates.trade_off import preference, questions
from fireassay.verdict.judging import RESULT_GATES, Evidence, Vector
from fireassay.verdict.phrases import launch_words, machine_words, origin
from fireassay.verdict.types import DIMENSIONS, WORST_FIRST, DimensionResult, Finding, GateResult, Recommendation, Status, Verdict

TRADE_OFFS: Final = ("latency_cap", "throughput_floor")
NOTHING_ASKED: Final = "measured; no objective was given"


def sentence(evidence: Evidence, verdict: Verdict) -> str:
    """The quotable sentence."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    status, picks, vector = verdict.status, verdict.recommendations, verdict.dimensions
    name, picked = measured.experiment.name, picks[0].configuration
    if status == "INVALID":
        worst = next(finding for finding in findings if finding.severity == "invalid")
        where = f"{worst.configuration}: " if worst.configuration else ""
        return f"{name}: INVALID, no number of this record may be quoted: {where}{worst.evidence}."
    if status == "FAIL":
        return f"{name}: FAIL: {_failure(measured, findings, gates, picks)}."
    if status == "INCONCLUSIVE":
        return f"{name}: INCONCLUSIVE: {_undecided(measured, results, gates)}.{origin(measured)}"
    if picked is None:
        return f"{name}: {NOTHING_ASKED}. {_widest(measured, results)}. {_conditions(measured)}"
    which = f"has {preference(measured)}" if questions(measured) else "is the largest admissible load"
    claim = f"{at(measured, picked)} {which}: {_claim(measured, results, gates, picked)}"
    larger = "" if questions(measured) else _next(measured, gates, picked)
    return f"{name}: {claim}{larger}. {_conditions(measured)}{_missing(vector[picked], results, picked)}"


def _failure(measured: RecordData, findings: Sequence[Finding], gates: Sequence[GateResult], picks: Sequence[Recommendation]) -> str:
    wrong = [f"{f.configuration or 'all'}: {f.evidence}" for f in findings if f.severity == "fail"]
    wrong += [f"{gate.configuration}: {gate.sentence}" for gate in gates if gate.gate == "recovery" and gate.status == "FAIL"]
    if wrong:
        return "; ".join(wrong)
    first = measured.configurations[0]
    failed = [gate.sentence for gate in gates if gate.configuration == first and gate.status == "FAIL"]
    return f"no load passes; at the smallest, {first}: {'; '.join(failed)}" if failed else picks[0].sentence


def _undecided(measured: RecordData, results: Results, gates: Sequence[GateResult]) -> str:
    open_ = [f"{gate.configuration}: {gate.sentence}" for gate in gates if gate.status in ("INCONCLUSIVE", "NOT_MEASURED")]
    return "; ".join((open_ or unmeasured(measured, results))[:2]) or "too little was measured"


def _claim(measured: RecordData, results: Results, gates: Sequence[GateResult], name: str) -> str:
    """Attainment of the objectives, goodput, tails, cost and the effect of a fault."""
    parts = []
    if is_known(results, SLO_ATTAINMENT.name, name):
        parts.append(f"{value_of(results, SLO_ATTAINMENT.name, name)} of the requests within {objectives_words(measured)}")
    parts += list(number_phrases(results, name))
    parts += [quoted(results, metric, name) for metric in COSTS[:1] if is_known(results, metric, name)]
    parts += [gate.sentence for gate in gates if gate.configuration == name and gate.gate in (*RESULT_GATES, *TRADE_OFFS)]
    return "; ".join(parts)


def objectives_words(measured: RecordData) -> str:
    """ "ttft ≤ 0.5 s and tpot ≤ 0.05 s"."""
    assert measured.experiment.serving is not None
    objectives = measured.experiment.serving.objectives
    limits = {
        "time to first token": objectives.ttft_s,
        "time to visible text": objectives.ttft_visible_s,
        "time per token": objectives.tpot_s,
        "gap between tokens": objectives.itl_s,
        "end to end": objectives.e2e_s,
    }
    return " and ".join(f"{words} ≤ {given(limit)} s" for words, limit in limits.items() if limit is not None)


def _widest(measured: RecordData, results: Results) -> str:
    """Without a recommendation: the smallest and the largest load, in numbers."""
    names = dict.fromkeys((measured.configurations[0], measured.configurations[-1]))
    return ". ".join(f"At {name}: {'; '.join(number_phrases(results, name))}" for name in names)


def _next(measured: RecordData, gates: Sequence[GateResult], name: str) -> str:
    """Why not more: the first gate that the next larger load of the same engine and scenario does not pass."""
    members = next(group for group in groups_of(measured).values() if any(member.name == name for member in group))
    index = [member.name for member in members].index(name) + 1
    if index == len(members):
        return "; no larger load was tried" if len(measured.configurations) > 1 else ""
    larger = members[index].name
    for verb, statuses in (("does not pass", ("FAIL",)), ("is undecided", ("INCONCLUSIVE", "NOT_MEASURED"))):
        for gate in gates:
            if gate.configuration == larger and gate.status in statuses:
                return f"; {larger} {verb}: {gate.sentence}"
    return ""


def _conditions(measured: RecordData) -> str:
    serving = measured.experiment.serving
    assert serving is not None
    if measured.foreign is not None:
        return f"Conditions: as far as the imported file states them; {count(measured.timed.height, 'runs')}.{origin(measured)}"
    arrivals = serving.arrivals
    traffic = f"{serving.task} with {serving.model or 'the model of the server'}, {', '.join(serving.scenarios)}"
    timed = (
        f"{arrivals.process.replace('_', ' ')} arrivals for {given(arrivals.duration_s)} s after {given(arrivals.warm_up_s)} s of warm-up"
    )
    engines = len({configuration.target for configuration in measured.varied})
    compared = f", {count(engines, 'engines')}" if engines > 1 else ""
    confidence = f"{number(measured.experiment.launches.confidence * 100, 0)} % intervals"
    return f"Conditions: {traffic}{compared}; {timed}; {launch_words(measured)}; {confidence}; client {_client(measured)}."


def _client(measured: RecordData) -> str:
    serving = measured.experiment.serving
    assert serving is not None
    processes = serving.client.processes
    return f"of {'one process' if processes == 1 else f'{processes} processes'}{machine_words(measured.before)}"


def _missing(row: Mapping[str, DimensionResult], results: Results, name: str) -> str:
    missing = [dimension for dimension in DIMENSIONS if row[dimension].status == "NOT_MEASURED"]
    if "cost" not in missing and not any(is_known(results, metric, name) for metric in ENERGIES):
        missing.append("energy")
    if not any(is_known(results, metric, name) for metric in ("quality",)) and "correctness" not in missing:
        missing.append("quality")
    return f" Not measured: {', '.join(missing)}." if missing else ""


# ---- how numbers are worded ------------------------------------------------------------------------------------------


NAMES: Final[Mapping[str, str]] = {
    GOODPUT.name: "goodput",
    OUTPUT_THROUGHPUT.name: "throughput",
    REQUEST_THROUGHPUT.name: "throughput",
    COST.name: "cost of a run",
    COST_PER_GOOD_TOKEN.name: "cost of good tokens",
    COST_PER_TOKEN.name: "cost of tokens",
    COST_PER_REQUEST.name: "cost of requests",
    ENERGY.name: "energy",
    ENERGY_PER_GOOD_TOKEN.name: "energy of good tokens",
    ENERGY_PER_TOKEN.name: "energy of tokens",
    ENERGY_PER_REQUEST.name: "energy of requests",
}
LATENCIES: Final[Mapping[str, str]] = {
    "ttft": "time to the first token",
    "ttft_visible": "time to the first visible text",
    "tpot": "time per output token",
    "itl": "gap between tokens",
    "e2e": "end-to-end time",
}
RATES: Final[Mapping[str, str]] = {
    GOODPUT.name: " requests/s",
    REQUEST_THROUGHPUT.name: " requests/s",
    OUTPUT_THROUGHPUT.name: " tokens/s",
    INPUT_THROUGHPUT.name: " tokens/s",
    OFFERED_RATE.name: " requests/s",
    ACHIEVED_RATE.name: " requests/s",
}
PERCENTILES: Final[Mapping[str, str]] = {"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9"}


def worth(metric: str) -> str:
    """The name of a metric before its number."""
    latency, _, percentile = metric.rpartition("_")
    if latency in LATENCIES and percentile in PERCENTILES:
        return f"{PERCENTILES[percentile]} of the {LATENCIES[latency]}"
    return NAMES.get(metric, metric.replace("_", " "))


def shown(metric: str, value: Estimate | Absent) -> Shown:
    """The number with the unit that a reader expects: requests and tokens per second rather than "1/s"."""
    if metric in RATES and isinstance(value, Estimate):
        return show(value, Scale(factor=1.0, after=RATES[metric]))
    return show(value, work="requests")


def value_of(results: Results, metric: str, configuration: str) -> str:
    """Value and interval, or why there is none."""
    return shown(metric, results[metric][configuration]).full


def at(measured: RecordData, configuration: str) -> str:
    """A configuration as the subject of a sentence, with its number of replicas."""
    candidate = next(candidate for candidate in measured.varied if candidate.name == configuration)
    replicas = f" on {candidate.workers} replicas" if candidate.workers > 1 else ""
    return f"{configuration}{replicas}"


SPEEDS: Final = (GOODPUT.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name)  # "fastest" is by the first of these that is known
COSTS: Final = (COST_PER_GOOD_TOKEN.name, COST_PER_TOKEN.name, COST_PER_REQUEST.name, COST.name)
ENERGIES: Final = (ENERGY_PER_GOOD_TOKEN.name, ENERGY_PER_TOKEN.name, ENERGY_PER_REQUEST.name, ENERGY.name)
TAILS: Final = tuple(
    tuple(metric.name for metric in tails)
    for tails in ((TTFT_P99, TTFT_P95, TTFT_P50), (TPOT_P99, TPOT_P95, TPOT_P50), (E2E_P99, E2E_P95, E2E_P50))
)


def is_known(results: Results, metric: str, name: str) -> bool:
    return isinstance(results.get(metric, {}).get(name), Estimate)


def quoted(results: Results, metric: str, name: str) -> str:
    """ "goodput 9.9 requests/s [9.8, 10.0]"."""
    return f"{worth(metric)} {value_of(results, metric, name)}"


def number_phrases(results: Results, name: str) -> Iterator[str]:
    """Throughput, goodput, and the farthest tail of each latency that the requests support."""
    for metric in SPEEDS[:2]:
        if is_known(results, metric, name):
            yield quoted(results, metric, name)
    for latency in TAILS:
        known = next((metric for metric in latency if is_known(results, metric, name)), None)
        if known is not None:
            yield quoted(results, known, name)


Group = tuple[str, str]  # engine, scenario


def groups_of(measured: RecordData) -> dict[Group, list[Configuration]]:
    """Engine and scenario -> its configurations by ascending load."""
    groups: dict[Group, list[Configuration]] = {}
    for configuration in measured.varied:
        groups.setdefault((configuration.target, configuration.scenario), []).append(configuration)
    return groups


# ---- each load in the four dimensions --------------------------------------------------------------------------------


MEASURED: Final = (OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name, E2E_P50.name)  # nothing was measured if all of these are missing


def gated(gates: Sequence[GateResult]) -> bool:
    """True if any gate decides about a load; recovery is judged separately."""
    return any(gate.gate != "recovery" for gate in gates)


def unmeasured(measured: RecordData, results: Results) -> list[str]:
    """Configurations without a number, with the reason."""
    gaps = []
    for name in measured.configurations:
        values = [results.get(metric, {}).get(name) for metric in MEASURED]
        known = [value for value in values if isinstance(value, Estimate)]
        if not known:
            why = next((value.detail for value in values if isinstance(value, Absent)), "nothing was measured")
            gaps.append(f"{name}: {why}")
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
    required = [gates[gate] for gate in ("objectives", *TRADE_OFFS) if gate in gates]
    if not numbers:
        absent = results.get(E2E_P50.name, {}).get(name)
        why = absent.detail if isinstance(absent, Absent) else "no latency was measured"
        return DimensionResult(status=_worst(required) if required else "NOT_MEASURED", sentence=why)
    if required:
        return DimensionResult(status=_worst(required), sentence="; ".join((*(gate.sentence for gate in required), *numbers)))
    few = next((value.n_launches for metric in MEASURED if isinstance(value := results.get(metric, {}).get(name), Estimate)), 0)
    more = too_few(few) if few < MIN_LAUNCHES else "no objective was given"
    return DimensionResult(status="MEASURED", sentence="; ".join((*numbers, more)))


def _worst(gates: Sequence[GateResult]) -> Status:
    return min((gate.status for gate in gates), key=WORST_FIRST.index)


def _cost(results: Results, name: str, gates: Mapping[str, GateResult]) -> DimensionResult:
    costs = [quoted(results, metric, name) for metric in COSTS[:3] if is_known(results, metric, name)]
    energy = next((metric for metric in ENERGIES if is_known(results, metric, name)), None)
    used = footprint(values_at(results, name))
    joules = used or (quoted(results, energy, name) if energy else "energy not measured")
    if "budget" in gates:
        return DimensionResult(status=gates["budget"].status, sentence="; ".join((gates["budget"].sentence, *costs, joules)))
    if costs:
        whole = [cost_of_a_run(values_at(results, name), "launch")] if parts_of_cost(values_at(results, name)) else []
        return DimensionResult(
            status="MEASURED", sentence=f"{', '.join((*whole, *costs[: 1 if whole else None]))}{', ' if used else '; '}{joules}"
        )
    absent = next((v for metric in COSTS if isinstance(v := results.get(metric, {}).get(name), Absent)), None)
    why = f"cost: {absent.detail}" if absent is not None else "cost was not measured"
    return DimensionResult(status="MEASURED" if energy else "NOT_MEASURED", sentence=f"{why}; {joules}")


def _reliability(results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]) -> DimensionResult:
    errors = [value_of(results, ERROR_RATE.name, name) + " of the requests failed"] if is_known(results, ERROR_RATE.name, name) else []
    if "recovery" in gates:
        return DimensionResult(status=gates["recovery"].status, sentence="; ".join((gates["recovery"].sentence, *errors)))
    if not errors:
        return DimensionResult(status="NOT_MEASURED", sentence="no request was due, and no fault was injected")
    many = any(f.rule in ("server_errors", "answers_cut_off") and f.severity == "warning" for f in findings)
    status: Status = "INCONCLUSIVE" if many else "PASS"
    return DimensionResult(status=status, sentence="; ".join((*errors, "no fault was injected")))
