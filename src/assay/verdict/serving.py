"""What is the verdict on a load on serving engines?

INVALID: an audit found that something else than the server was measured, or that requests are unaccounted for.
FAIL: answers went to the wrong asker, agreement is below the grade asked for, a fault was not survived, or no load passes its
gates.  INCONCLUSIVE: the intervals straddle what was asked for, or too few launches ended.  PASS: at least one load passes every
gate, and the largest of each engine and scenario is recommended.  Without a gate (no objectives, quality or budget) there is nothing
to pass: PASS then means that every load was measured validly, and every sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assay.estimates.estimate import Absent, Estimate
from assay.estimates.format import Scale, count, given, number, show
from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.metrics.serving.answers import ANSWERS_IDENTICAL, CANARIES_ANSWERED
from assay.metrics.serving.cost import (
    COST_PER_GOOD_TOKEN,
    COST_PER_REQUEST,
    COST_PER_TOKEN,
    ENERGY_PER_GOOD_TOKEN,
    ENERGY_PER_REQUEST,
    ENERGY_PER_TOKEN,
)
from assay.metrics.serving.faults import ERROR_RATE
from assay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TPOT_P50, TPOT_P95, TPOT_P99, TTFT_P50, TTFT_P95, TTFT_P99
from assay.metrics.serving.objectives import GOODPUT, SLO_ATTAINMENT
from assay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from assay.spec.plan import Configuration
from assay.verdict.evidence.answer_agreement import Agreement, agreements, graded
from assay.verdict.gates.support.gate import FEWEST_LAUNCHES, too_few
from assay.verdict.imported import origin
from assay.verdict.recommend import RESULT_GATES, admissible
from assay.verdict.saturation import Saturation, saturations
from assay.verdict.sentence import launch_words, machine_words
from assay.verdict.serving_words import at, shown, value_of, worth
from assay.verdict.status import forced
from assay.verdict.types import DIMENSIONS, DimensionResult, Finding, GateResult, Recommendation, Status, Verdict

NOTHING_ASKED: Final = "no objective was asked for, so there is nothing to pass: measured validly"
RATES: Final = (GOODPUT.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name)  # what "fastest" means, the first that is known
COSTS: Final = (COST_PER_GOOD_TOKEN.name, COST_PER_TOKEN.name, COST_PER_REQUEST.name, "cost")
TAILS: Final = tuple(
    tuple(metric.name for metric in tails)
    for tails in ((TTFT_P99, TTFT_P95, TTFT_P50), (TPOT_P99, TPOT_P95, TPOT_P50), (E2E_P99, E2E_P95, E2E_P50))
)
MEASURED: Final = (OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name, E2E_P50.name)  # without any of these nothing was measured


def verdict(measured: Measured, results: Results, findings: Sequence[Finding], gates: Sequence[GateResult]) -> Verdict:
    """The whole judgement."""
    vector = _dimensions(measured, results, findings, gates)
    picks = recommend(measured, results, findings, gates)
    status = overall(measured, results, findings, gates)
    return Verdict(
        status=status,
        findings=tuple(findings),
        gates=tuple(gates),
        dimensions=vector,
        recommendations=picks,
        sentence=_sentence(measured, results, status, findings, gates, picks, vector),
    )


def overall(measured: Measured, results: Results, findings: Sequence[Finding], gates: Sequence[GateResult]) -> Status:
    """One status for the record."""
    if (already := forced(findings, gates)) is not None:
        return already
    if not _asked(gates):
        return "PASS" if not _unmeasured(measured, results) else "INCONCLUSIVE"
    standings = [admissible(name, findings, gates) for name in measured.configurations]
    if "PASS" in standings:
        return "PASS"
    return "FAIL" if all(standing == "FAIL" for standing in standings) else "INCONCLUSIVE"


def _asked(gates: Sequence[GateResult]) -> bool:
    """Whether any gate decides about a load; a recovery is a gate of its own."""
    return any(gate.gate != "recovery" for gate in gates)


def _unmeasured(measured: Measured, results: Results) -> list[str]:
    """Configurations without a number that rests on enough launches, with the reason."""
    found = []
    for name in measured.configurations:
        values = [results.get(metric, {}).get(name) for metric in MEASURED]
        known = [value for value in values if isinstance(value, Estimate)]
        if not known:
            why = next((value.detail for value in values if isinstance(value, Absent)), "nothing was measured")
            found.append(f"{name}: {why}")
        elif known[0].n_launches < FEWEST_LAUNCHES:
            found.append(f"{name}: {too_few(known[0].n_launches)}")
    return found


# ---- dimensions ------------------------------------------------------------------------------------------------------


def _dimensions(
    measured: Measured, results: Results, findings: Sequence[Finding], gates: Sequence[GateResult]
) -> Mapping[str, Mapping[str, DimensionResult]]:
    made: dict[str, Mapping[str, DimensionResult]] = {}
    grades = agreements(measured)
    for name in measured.configurations:
        own = [finding for finding in findings if finding.configuration == name]
        of_gates = {gate.gate: gate for gate in gates if gate.configuration == name}
        made[name] = {
            "correctness": _correctness(results, name, own, of_gates, grades.get(name)),
            "performance": _performance(results, name, findings, of_gates),
            "cost": _cost(results, name, of_gates),
            "reliability": _reliability(results, name, own, of_gates),
        }
    return made


def _correctness(
    results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult], grade: Agreement | None
) -> DimensionResult:
    wrong = [finding for finding in findings if finding.severity == "fail"]
    if wrong:
        return DimensionResult(status="FAIL", sentence="; ".join(f"{f.rule}: {f.evidence}" for f in wrong))
    checks = [f"{value_of(results, metric, name)} {words}" for metric, words in CHECKS.items() if _known(results, metric, name)]
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
        said = "; ".join(("answers were not checked: no reference answers, no canaries, no prompts for every replica", *doubts))
        return DimensionResult(status="NOT_MEASURED", sentence=said)
    return DimensionResult(status="PASS", sentence="; ".join(("quality was not measured", *checks, *doubts)))


# Metrics of correctness that may stand beside quality, and how they are said.
CHECKS: Final[Mapping[str, str]] = {
    CANARIES_ANSWERED.name: "of the canaries came back with their nonce",
    ANSWERS_IDENTICAL.name: "of the prompts that were sent again had one answer",
}


def _known(results: Results, metric: str, name: str) -> bool:
    return isinstance(results.get(metric, {}).get(name), Estimate)


def _performance(results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]) -> DimensionResult:
    bad = [f for f in findings if f.severity == "invalid" and f.configuration in (None, name)]
    if bad:
        return DimensionResult(status="INVALID", sentence="; ".join(f.evidence for f in bad))
    numbers = list(_numbers(results, name))
    if not numbers:
        absent = results.get(E2E_P50.name, {}).get(name)
        why = absent.detail if isinstance(absent, Absent) else "no latency was measured"
        return DimensionResult(status=gates["objectives"].status if "objectives" in gates else "NOT_MEASURED", sentence=why)
    if "objectives" in gates:
        sentence = "; ".join((gates["objectives"].sentence, *numbers))
        return DimensionResult(status=gates["objectives"].status, sentence=sentence)
    few = next((value.n_launches for metric in MEASURED if isinstance(value := results.get(metric, {}).get(name), Estimate)), 0)
    if few < FEWEST_LAUNCHES:
        return DimensionResult(status="INCONCLUSIVE", sentence="; ".join((*numbers, too_few(few))))
    return DimensionResult(status="PASS", sentence="; ".join((*numbers, "no objective was asked for")))


def _numbers(results: Results, name: str) -> Iterator[str]:
    """Throughput, goodput, and of each latency the farthest tail that the requests can carry."""
    for metric in RATES[:2]:
        if _known(results, metric, name):
            yield _told(results, metric, name)
    for latency in TAILS:
        found = next((metric for metric in latency if _known(results, metric, name)), None)
        if found is not None:
            yield _told(results, found, name)


def _told(results: Results, metric: str, name: str) -> str:
    """ "goodput 9.9 requests/s [9.8, 10.0]"."""
    return f"{worth(metric)} {value_of(results, metric, name)}"


def _cost(results: Results, name: str, gates: Mapping[str, GateResult]) -> DimensionResult:
    said = [_told(results, metric, name) for metric in COSTS[:3] if _known(results, metric, name)]
    energy = next((metric for metric in ENERGIES if _known(results, metric, name)), None)
    joules = _told(results, energy, name) if energy else "energy not measured"
    if "budget" in gates:
        return DimensionResult(status=gates["budget"].status, sentence="; ".join((gates["budget"].sentence, *said, joules)))
    if said:
        return DimensionResult(status="PASS", sentence="; ".join((*said, joules)))
    absent = next((v for metric in COSTS if isinstance(v := results.get(metric, {}).get(name), Absent)), None)
    why = f"cost: {absent.detail}" if absent is not None else "cost was not measured"
    return DimensionResult(status="PASS" if energy else "NOT_MEASURED", sentence=f"{why}; {joules}")


ENERGIES: Final = (ENERGY_PER_GOOD_TOKEN.name, ENERGY_PER_TOKEN.name, ENERGY_PER_REQUEST.name, "energy")


def _reliability(results: Results, name: str, findings: Sequence[Finding], gates: Mapping[str, GateResult]) -> DimensionResult:
    errors = [value_of(results, ERROR_RATE.name, name) + " of the requests failed"] if _known(results, ERROR_RATE.name, name) else []
    if "recovery" in gates:
        return DimensionResult(status=gates["recovery"].status, sentence="; ".join((gates["recovery"].sentence, *errors)))
    if not errors:
        return DimensionResult(status="NOT_MEASURED", sentence="no request was due, and no fault was injected")
    many = any(f.rule in ("server_errors", "answers_cut_off") and f.severity == "warning" for f in findings)
    status: Status = "INCONCLUSIVE" if many else "PASS"
    return DimensionResult(status=status, sentence="; ".join((*errors, "no fault was injected")))


# ---- recommendations -------------------------------------------------------------------------------------------------


def recommend(measured: Measured, results: Results, findings: Sequence[Finding], gates: Sequence[GateResult]) -> tuple[Recommendation, ...]:
    """The recommended load first, one for each engine and scenario where there are several, then the cheapest and the fastest."""
    invalid = any(finding.severity == "invalid" for finding in findings)
    groups = _groups(measured)
    passing = {
        key: [one for one in members if not invalid and admissible(one.name, findings, gates) == "PASS"] for key, members in groups.items()
    }
    picks = [_recommended(measured, results, passing, gates, invalid=invalid)]
    if len(groups) > 1 and _asked(gates) and not invalid:
        picks += [_largest(key, own, gates) for key, own in passing.items()]
    picks += [] if invalid else [_saturated(measured, one, len(groups)) for one in saturations(measured)]
    right = [] if invalid else [name for name in measured.configurations if _is_right(name, findings, gates)]
    picks.append(_best(measured, results, COSTS, right, "cheapest", lowest=True))
    picks.append(_best(measured, results, RATES, right, "fastest", lowest=False))
    return tuple(picks)


Group = tuple[str, str]  # engine, scenario


def _groups(measured: Measured) -> dict[Group, list[Configuration]]:
    """Engine and scenario -> its configurations by ascending load."""
    found: dict[Group, list[Configuration]] = {}
    for one in measured.varied:
        found.setdefault((one.target, one.scenario), []).append(one)
    return found


def _is_right(name: str, findings: Sequence[Finding], gates: Sequence[GateResult]) -> bool:
    """Nothing wrong was found, and no gate on results says that it is wrong; what was not measured excludes nothing."""
    of_result = [gate for gate in gates if gate.configuration == name and gate.gate in RESULT_GATES]
    return admissible(name, findings, of_result) != "FAIL"


def _recommended(
    measured: Measured, results: Results, passing: Mapping[Group, Sequence[Configuration]], gates: Sequence[GateResult], *, invalid: bool
) -> Recommendation:
    if invalid:
        return _none("the record is inadmissible, so no load can be recommended")
    if not _asked(gates):
        return _none("no objective was asked for (serving.objectives), so no load can be called the largest that is good enough")
    tops = [own[-1] for own in passing.values() if own]
    if not tops:
        return _none("no load passes every gate")
    scenario = tops[0].scenario
    rivals = [one for one in tops if one.scenario == scenario]  # rates of other lengths are no rivals
    best = max(rivals, key=lambda one: _speed(results, one.name))
    others = [one.target for one in rivals if one is not best]
    more = (
        f", with the highest goodput; {' and '.join(others)} {'passes' if len(others) == 1 else 'pass'} at {'its' if len(others) == 1 else 'their'} own"
        if others
        else ""
    )
    return Recommendation(goal="recommended", configuration=best.name, sentence=f"the largest load that passes every gate{more}")


def _none(why: str) -> Recommendation:
    return Recommendation(goal="recommended", configuration=None, sentence=why)


def _speed(results: Results, name: str) -> float:
    values = (results.get(metric, {}).get(name) for metric in RATES)
    return next((value.value for value in values if isinstance(value, Estimate)), 0.0)


def _largest(key: Group, own: Sequence[Configuration], gates: Sequence[GateResult]) -> Recommendation:
    goal = f"recommended for {key[0]}, {key[1]}"
    if not own:
        return Recommendation(goal=goal, configuration=None, sentence="no load passes every gate")
    said = [gate.sentence for gate in gates if gate.configuration == own[-1].name and gate.gate == "objectives"]
    return Recommendation(goal=goal, configuration=own[-1].name, sentence="; ".join(said) or "the largest load that passes every gate")


def _saturated(measured: Measured, one: Saturation, groups: int) -> Recommendation:
    """Up to which load the objectives are met; the configuration is the largest measured one that met them."""
    goal = "saturation" if groups == 1 else f"saturation of {one.target}, {one.scenario}"
    if isinstance(one.value, Absent):
        return Recommendation(goal=goal, configuration=one.last, sentence=one.value.detail)
    unit = " requests/s" if measured.experiment.serving and measured.experiment.serving.rate else " requests in flight"
    bracket = (
        f"between {one.last} and {one.first}, on a line through the log odds of a miss"
        if one.last and one.first
        else "on a line through the log odds of a miss"
    )
    told = show(one.value, Scale(factor=1.0, after=unit)).full
    return Recommendation(goal=goal, configuration=one.last, sentence=f"objectives are met up to {told}, {bracket}")


def _best(measured: Measured, results: Results, metrics: Sequence[str], right: Sequence[str], goal: str, *, lowest: bool) -> Recommendation:
    """By the first of the metrics that is known for any of the configurations."""
    for metric in metrics:
        found = {name: value for name in right if isinstance(value := results.get(metric, {}).get(name), Estimate)}
        if found and (lowest or max(value.value for value in found.values()) > 0.0):
            sign = 1.0 if lowest else -1.0
            best = min(found, key=lambda name: sign * found[name].value)
            return Recommendation(goal=goal, configuration=best, sentence=_beside(metric, found, best))
    why = next((v.detail for metric in metrics for v in results.get(metric, {}).values() if isinstance(v, Absent)), "")
    return Recommendation(goal=goal, configuration=None, sentence=f"not measured{': ' if why else ''}{why}")


def _beside(metric: str, found: Mapping[str, Estimate], best: str) -> str:
    """The number, and which others its interval does not part it from."""
    value = found[best]
    rivals = [name for name, other in found.items() if name != best and other.low <= value.high and value.low <= other.high]
    told = f"{worth(metric)} {shown(metric, value).full}"
    return f"{told}; not separated from {' and '.join(rivals)} by these intervals" if rivals else told


# ---- the sentence ----------------------------------------------------------------------------------------------------


def _sentence(
    measured: Measured,
    results: Results,
    status: Status,
    findings: Sequence[Finding],
    gates: Sequence[GateResult],
    picks: Sequence[Recommendation],
    vector: Mapping[str, Mapping[str, DimensionResult]],
) -> str:
    """The one that may be quoted."""
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


def _failure(measured: Measured, findings: Sequence[Finding], gates: Sequence[GateResult], picks: Sequence[Recommendation]) -> str:
    wrong = [f"{f.configuration or 'all'}: {f.evidence}" for f in findings if f.severity == "fail"]
    wrong += [f"{gate.configuration}: {gate.sentence}" for gate in gates if gate.gate == "recovery" and gate.status == "FAIL"]
    if wrong:
        return "; ".join(wrong)
    first = measured.configurations[0]
    failed = [gate.sentence for gate in gates if gate.configuration == first and gate.status == "FAIL"]
    return f"no load passes; at the smallest, {first}: {'; '.join(failed)}" if failed else picks[0].sentence


def _undecided(measured: Measured, results: Results, gates: Sequence[GateResult]) -> str:
    open_ = [f"{gate.configuration}: {gate.sentence}" for gate in gates if gate.status in ("INCONCLUSIVE", "NOT_MEASURED")]
    return "; ".join((open_ or _unmeasured(measured, results))[:2]) or "too little was measured"


def _claim(measured: Measured, results: Results, gates: Sequence[GateResult], name: str) -> str:
    """Attainment under its objectives, goodput, tails, cost and what a fault did."""
    parts = []
    if _known(results, SLO_ATTAINMENT.name, name):
        parts.append(f"{value_of(results, SLO_ATTAINMENT.name, name)} of the requests within {objectives_words(measured)}")
    parts += list(_numbers(results, name))
    parts += [_told(results, metric, name) for metric in COSTS[:1] if _known(results, metric, name)]
    parts += [gate.sentence for gate in gates if gate.configuration == name and gate.gate in RESULT_GATES]
    return "; ".join(parts)


def objectives_words(measured: Measured) -> str:
    """ "ttft ≤ 0.5 s and tpot ≤ 0.05 s"."""
    assert measured.experiment.serving is not None
    asked = measured.experiment.serving.objectives
    limits = {
        "time to first token": asked.ttft_s,
        "time to visible text": asked.ttft_visible_s,
        "time per token": asked.tpot_s,
        "gap between tokens": asked.itl_s,
        "end to end": asked.e2e_s,
    }
    return " and ".join(f"{words} ≤ {given(limit)} s" for words, limit in limits.items() if limit is not None)


def _widest(measured: Measured, results: Results) -> str:
    """Without a recommendation: the smallest and the largest load, in numbers."""
    names = dict.fromkeys((measured.configurations[0], measured.configurations[-1]))
    return ". ".join(f"At {name}: {'; '.join(_numbers(results, name))}" for name in names)


def _next(measured: Measured, gates: Sequence[GateResult], name: str) -> str:
    """Why not more: what the next larger load of the same engine and scenario does not pass."""
    members = next(own for own in _groups(measured).values() if any(one.name == name for one in own))
    place = [one.name for one in members].index(name) + 1
    if place == len(members):
        return "; no larger load was tried" if len(measured.configurations) > 1 else ""
    larger = members[place].name
    for verb, statuses in (("does not pass", ("FAIL",)), ("is undecided", ("INCONCLUSIVE", "NOT_MEASURED"))):
        for gate in gates:
            if gate.configuration == larger and gate.status in statuses:
                return f"; {larger} {verb}: {gate.sentence}"
    return ""


def _conditions(measured: Measured) -> str:
    serving = measured.experiment.serving
    assert serving is not None
    if measured.foreign is not None:
        return f"Conditions: as far as the imported file says them; {count(measured.timed.height, 'runs')}.{origin(measured)}"
    arrivals = serving.arrivals
    traffic = f"{serving.task} with {serving.model or 'the model of the server'}, {', '.join(serving.scenarios)}"
    timed = (
        f"{arrivals.process.replace('_', ' ')} arrivals for {given(arrivals.duration_s)} s after {given(arrivals.warm_up_s)} s of warm-up"
    )
    engines = len({one.target for one in measured.varied})
    said = f", {count(engines, 'engines')}" if engines > 1 else ""
    confidence = f"{number(measured.experiment.launches.confidence * 100, 0)} % intervals"
    return f"Conditions: {traffic}{said}; {timed}; {launch_words(measured)}; {confidence}; client {_client(measured)}."


def _client(measured: Measured) -> str:
    serving = measured.experiment.serving
    assert serving is not None
    processes = serving.client.processes
    return f"of {'one process' if processes == 1 else f'{processes} processes'}{machine_words(measured.before)}"


def _missing(row: Mapping[str, DimensionResult], results: Results, name: str) -> str:
    missing = [dimension for dimension in DIMENSIONS if row[dimension].status == "NOT_MEASURED"]
    if "cost" not in missing and not any(_known(results, metric, name) for metric in ENERGIES):
        missing.append("energy")
    if not any(_known(results, metric, name) for metric in ("quality",)) and "correctness" not in missing:
        missing.append("quality")
    return f" Not measured: {', '.join(missing)}." if missing else ""
