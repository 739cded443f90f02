"""Which sentence about a load may be quoted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.format import count, given, number
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving.dimensions import unmeasured
from fireassay.kinds.serving.phrases import COSTS, ENERGIES, at, is_known, number_phrases, quoted, value_of
from fireassay.kinds.serving.recommendation import groups_of
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.objectives import SLO_ATTAINMENT
from fireassay.verdict.judging import RESULT_GATES, Evidence
from fireassay.verdict.phrases import launch_words, machine_words, origin
from fireassay.verdict.types import DIMENSIONS, DimensionResult, Finding, GateResult, Recommendation, Verdict

NOTHING_ASKED: Final = "no objective was requested, so there is nothing to pass: measured validly"


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
    claim = f"{at(measured, picked)} is the largest admissible load: {_claim(measured, results, gates, picked)}"
    return f"{name}: {claim}{_next(measured, gates, picked)}. {_conditions(measured)}{_missing(vector[picked], results, picked)}"


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
    parts += [gate.sentence for gate in gates if gate.configuration == name and gate.gate in RESULT_GATES]
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
