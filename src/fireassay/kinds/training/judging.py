"""What is the verdict on a training?

INVALID (an audit found the record inadmissible) > FAIL (distribution gave a wrong or degraded result, a fault was not survived, or the
required worker count is not admissible) > INCONCLUSIVE (nothing can be recommended on this evidence, or only the base while a
larger count is undecided) > NO_GAIN (the base is recommended, every other count is decided against) > GAIN (a larger count is
recommended).  PASS: the required count is admissible, or the only one that was measured passes its gates; MEASURED: it had none, or one
launch of each count was asked for (`launches.quick`), which recommends nothing.

Recommended is the largest worker count that is faster than the base and passes every gate (`knee` in docs/definitions.md).  The other goals
need quality held and nothing wrong found, whatever the efficiency: cheapest (cost per item, else per run), fastest (time per unit of work),
and the largest under the deadline or the budget.  A configuration whose quality is not held is never picked.  With `verdict.only`, quality
is required only if correctness is requested by name or scores are named; requested dimensions must be measured.

The quotable sentence has the number, its interval and its conditions, or says why there is none; it names the dimensions that were not
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given, number, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended_words
from fireassay.kinds.training.layers import layers
from fireassay.metrics.metric import Results
from fireassay.spec.plan import configuration_name
from fireassay.verdict.cost_words import cost_of_a_run, values_at
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import RESULT_GATES, Evidence, Judging, Vector, admissible, dimensions, forced
from fireassay.verdict.phrases import in_words, launch_words, machine_words
from fireassay.verdict.types import DIMENSIONS, DimensionResult, Finding, GateResult, Recommendation, Status, Verdict


def status(evidence: Evidence, recommendations: tuple[Recommendation, ...]) -> Status:
    """One status for the record."""
    data, findings, gates = evidence.data, evidence.findings, evidence.gates
    quick = data.experiment.launches.quick
    if (already := forced(findings, () if quick else gates)) is not None or quick:
        return already or "MEASURED"
    required = data.experiment.gates.required_workers
    if required is not None:
        return standing(evidence, configuration_name(required))
    if (picked := recommendations[0].configuration) is not None:
        if picked == data.base:
            return _of_base(evidence)
        return "GAIN" if "performance" in data.experiment.verdict.wanted else _held_or_measured(evidence)
    hopeless = all(admissible(name, findings, gates) == "FAIL" for name in data.configurations)
    return "FAIL" if hopeless else "INCONCLUSIVE"


def _of_base(evidence: Evidence) -> Status:
    """The status of a record whose base is recommended."""
    others = {standing(evidence, name) for name in evidence.data.configurations if name != evidence.data.base}
    if not others:
        return _held_or_measured(evidence)
    return "NO_GAIN" if others == {"FAIL"} else "INCONCLUSIVE"


def _held_or_measured(evidence: Evidence) -> Status:
    """The status where nothing asks for speed: was anything else required?"""
    return "PASS" if any(gate.gate != "efficiency" for gate in evidence.gates) else "MEASURED"


# ---- the recommended configuration -----------------------------------------------------------------------------------


def standing(evidence: Evidence, configuration: str) -> Status:
    """True if it may be recommended: as `admissible`, but only with a gain over the base, and at most undecided without quality."""
    status = admissible(configuration, evidence.findings, evidence.gates)
    if status != "PASS":
        return status
    gain = gains(evidence.data, evidence.results, configuration)
    return "INCONCLUSIVE" if gain == "PASS" and _lacks_quality(evidence.data) else gain


def gains(measured: RecordData, results: Results, configuration: str) -> Status:
    """True if it is faster than the base, if that was asked: a low efficiency gate alone would admit a slowdown."""
    speedup = results.get("speedup", {}).get(configuration)
    if configuration == measured.base or "performance" not in measured.experiment.verdict.wanted or not isinstance(speedup, Estimate):
        return "PASS"
    return "PASS" if speedup.low > 1.0 else "FAIL" if speedup.high <= 1.0 else "INCONCLUSIVE"


def _lacks_quality(measured: RecordData) -> bool:
    """True if quality was requested by name, but no score is named to judge it by. Who asks for speed gets speed."""
    return measured.experiment.quality is None and "correctness" in measured.experiment.verdict.only


def recommend(evidence: Evidence, vector: Vector = MappingProxyType({})) -> tuple[Recommendation, ...]:
    """The recommended configuration first, then one per further requested goal."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    dimensions = measured.experiment.verdict.wanted
    if measured.experiment.launches.quick:
        return (Recommendation(goal="recommended", configuration=None, sentence="one launch of each worker count: nothing is recommended"),)
    inadmissible = any(finding.severity == "invalid" for finding in findings)
    right = [name for name in measured.configurations if not inadmissible and _result_is_right(measured, name, findings, gates)]
    gaining = [name for name in right if gains(measured, results, name) == "PASS"]
    picks = [_recommended(measured, gaining, findings, gates, vector)]
    cost = "cost_per_item" if isinstance(results["cost_per_item"].get(measured.base), Estimate) else "cost"
    if "cost" in dimensions:
        picks.append(_least(measured, results, cost, right, "cheapest"))
    speed = "throughput" if isinstance(results["throughput"].get(measured.base), Estimate) else "speedup"
    if "performance" in dimensions:
        picks.append(_most(measured, results, speed, right, "fastest"))
    for gate, goal in (("deadline", "under deadline"), ("budget", "under budget")):
        if any(result.gate == gate for result in gates):
            picks.append(_largest_under(gate, goal, right, gates))
    return tuple(picks)


def _result_is_right(measured: RecordData, configuration: str, findings: Sequence[Finding], gates: Sequence[GateResult]) -> bool:
    """Quality was measured and held, faults were survived, and no audit found the result wrong."""
    of_result = [gate for gate in gates if gate.configuration == configuration and gate.gate in RESULT_GATES]
    if _lacks_quality(measured):
        return False
    return admissible(configuration, findings, of_result) == "PASS"


def _recommended(
    measured: RecordData, right: Sequence[str], findings: Sequence[Finding], gates: Sequence[GateResult], vector: Vector
) -> Recommendation:
    passing = [name for name in right if admissible(name, findings, gates) == "PASS"]
    lacking = {name: _unmeasured(measured, vector.get(name, {})) for name in passing}
    if answered := [name for name in passing if not lacking[name]]:
        conditions = "quality held and every gate passed" if measured.experiment.quality is not None else "every gate passed"
        return Recommendation(goal="recommended", configuration=answered[-1], sentence=f"the largest worker count with {conditions}")
    if passing:
        why = lacking[passing[-1]]
    elif any(finding.severity == "invalid" for finding in findings):
        why = "the record is inadmissible, so no configuration can be recommended"
    elif _lacks_quality(measured):
        why = "quality was not measured in these launches, so no configuration can be recommended"
    elif measured.experiment.quality is None:
        why = "no configuration passes every gate"
    elif not right:
        why = "no configuration was shown to hold quality"
    else:
        why = f"{_named(measured, right)} hold quality, but none passes every gate"
    return Recommendation(goal="recommended", configuration=None, sentence=why)


def _unmeasured(measured: RecordData, row: Mapping[str, DimensionResult]) -> str:
    """Why a dimension requested by name was not measured; "" if all were, or none was named."""
    requested = measured.experiment.verdict.only
    missing = [
        (name, row[name].sentence) for name in DIMENSIONS if name in requested and name in row and row[name].status == "NOT_MEASURED"
    ]
    return "; ".join(f"{name} was requested and not measured: {sentence}" for name, sentence in missing)


def _estimates(results: Results, metric: str, names: Sequence[str]) -> dict[str, Estimate]:
    return {name: value for name in names if isinstance(value := results[metric].get(name), Estimate)}


def _least(measured: RecordData, results: Results, metric: str, right: Sequence[str], goal: str) -> Recommendation:
    values = _estimates(results, metric, right)
    return _picked(measured, values, min(values, key=lambda name: values[name].value, default=None), goal)


def _most(measured: RecordData, results: Results, metric: str, right: Sequence[str], goal: str) -> Recommendation:
    values = _estimates(results, metric, right)
    return _picked(measured, values, max(values, key=lambda name: values[name].value, default=None), goal)


def _picked(measured: RecordData, values: dict[str, Estimate], best: str | None, goal: str) -> Recommendation:
    if best is None:
        condition = "" if measured.experiment.quality is None and not _lacks_quality(measured) else " that holds quality"
        return Recommendation(goal=goal, configuration=None, sentence=f"not measured for any configuration{condition}")
    value = values[best]
    rivals = [name for name, other in values.items() if name != best and other.low <= value.high and value.low <= other.high]
    sentence = show(value, work=measured.experiment.workload.work).full
    if rivals:
        sentence += f"; not separated from {_named(measured, rivals)} by these intervals"
    return Recommendation(goal=goal, configuration=best, sentence=sentence)


def _largest_under(gate: str, goal: str, right: Sequence[str], gates: Sequence[GateResult]) -> Recommendation:
    passing = [result for result in gates if result.gate == gate and result.status == "PASS" and result.configuration in right]
    if not passing:
        return Recommendation(goal=goal, configuration=None, sentence=f"no configuration that holds quality passes the {gate}")
    return Recommendation(goal=goal, configuration=passing[-1].configuration, sentence=passing[-1].sentence)


def _named(measured: RecordData, configurations: Sequence[str]) -> str:
    levels = dict(zip(measured.configurations, measured.levels, strict=True))
    return " and ".join(count(levels[name], "workers") for name in configurations)


# ---- the quotable sentence -------------------------------------------------------------------------------------------


def sentence(evidence: Evidence, verdict: Verdict) -> str:
    """The quotable sentence of a verdict."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    status, recommendations, vector = verdict.status, verdict.recommendations, verdict.dimensions
    name = measured.experiment.name
    picked = recommendations[0]
    if status == "INVALID":
        worst = next(finding for finding in findings if finding.severity == "invalid")
        return f"{name}: INVALID, no number of this record may be quoted: {worst.evidence}."
    if status == "FAIL":
        return f"{name}: FAIL: {_failure(measured, findings, recommendations, vector)}."
    if measured.experiment.launches.quick:
        return f"{name}: MEASURED in one launch of each worker count: no interval and no verdict."
    required = measured.experiment.gates.required_workers
    if picked.configuration is None or (status == "INCONCLUSIVE" and required is not None):
        return f"{name}: INCONCLUSIVE: {_undecided(measured, gates, picked)}.{_requested(measured)}"
    missing = _not_measured(measured, vector, results, picked.configuration)
    claim = _claim(measured, results, picked.configuration)
    return f"{name}: {claim}{_next(measured, gates, picked.configuration)}. {_conditions(measured)}{missing}{_requested(measured)}"


def _requested(measured: RecordData) -> str:
    """The requested dimensions, unless all were."""
    words = measured.experiment.verdict.words
    return f" Requested: {words} only." if words else ""


def _undecided(measured: RecordData, gates: Sequence[GateResult], picked: Recommendation) -> str:
    """The undecided part: the required worker count, or any recommendation."""
    required = measured.experiment.gates.required_workers
    if required is None or _lacks_quality(measured):
        return picked.sentence
    configuration = configuration_name(required)
    reasons = [gate.sentence for gate in gates if gate.configuration == configuration and gate.status != "PASS"]
    return f"{count(required, 'workers')} {'is' if required == 1 else 'are'} required and undecided: {'; '.join(reasons)}"


def _failure(
    measured: RecordData,
    findings: Sequence[Finding],
    recommendations: Sequence[Recommendation],
    vector: Mapping[str, Mapping[str, DimensionResult]],
) -> str:
    wrong = [finding for finding in findings if finding.severity == "fail"]
    if wrong:
        return "; ".join(f"{f.configuration}: {f.evidence}" for f in wrong)
    of_result = ("correctness", "reliability")
    if degraded := [f"{name}: {row[one].sentence}" for name, row in vector.items() for one in of_result if row[one].status == "FAIL"]:
        return "; ".join(degraded)
    required = measured.experiment.gates.required_workers
    required_name = None if required is None else configuration_name(required)
    examined = (
        {required_name: vector[required_name]}
        if required_name and any(result.status == "FAIL" for result in vector[required_name].values())
        else vector
    )
    failed = [
        f"{configuration}: {result.sentence}"
        for configuration, row in examined.items()
        for result in row.values()
        if result.status == "FAIL"
    ]
    return "; ".join(failed) or recommendations[0].sentence


def _claim(measured: RecordData, results: Results, configuration: str) -> str:
    workers = dict(zip(measured.configurations, measured.levels, strict=True))[configuration]
    if configuration == measured.base:
        return f"{_largest(workers)} (the base): {_base_time(results, configuration)}"
    parts, dimensions = [_largest(workers)], measured.experiment.verdict.wanted
    speedup, efficiency = results["speedup"][configuration], results["efficiency"][configuration]
    if isinstance(speedup, Estimate) and "performance" in dimensions:
        parts.append(
            f"speedup {show(speedup).full} over {count(measured.experiment.base_level, 'workers')} ({_base_time(results, measured.base)})"
        )
    if isinstance(efficiency, Estimate) and "performance" in dimensions:
        parts.append(f"efficiency {show(efficiency).full}")
    parts += [
        _quality(measured, results, configuration),
        _cost(measured, results, configuration) if "cost" in dimensions else "",
        _fault(results, configuration) if "reliability" in dimensions else "",
    ]
    return "; ".join(part for part in parts if part)


def _next(measured: RecordData, gates: Sequence[GateResult], configuration: str) -> str:
    """Why not more: the first gate that the next larger worker count does not pass, or that is undecided."""
    index = measured.configurations.index(configuration) + 1
    if index == len(measured.configurations):
        return ""
    name, workers = measured.configurations[index], measured.levels[index]
    for verb, statuses in (("do not pass", ("FAIL",)), ("are undecided", ("INCONCLUSIVE", "NOT_MEASURED"))):
        for gate in gates:
            if gate.configuration == name and gate.status in statuses:
                return f"; {count(workers, 'workers')} {verb}: {gate.sentence}"
    return ""


def _largest(workers: int) -> str:
    return f"{count(workers, 'workers')} {'is' if workers == 1 else 'are'} the largest admissible worker count"


def _base_time(results: Results, configuration: str) -> str:
    step, wall = results["step_time"][configuration], results["wall_time"][configuration]
    if isinstance(step, Estimate):
        return f"{show(step).full} a step"
    return f"{show(wall).full} a run" if isinstance(wall, Estimate) else "time not measured"


def _quality(measured: RecordData, results: Results, configuration: str) -> str:
    quality, value = measured.experiment.quality, results["quality_difference"][configuration]
    if quality is None or isinstance(value, Absent):
        return ""
    level_value = results["quality"][configuration]
    level = f"{show(level_value).text}, " if isinstance(level_value, Estimate) else ""
    shown = show(value, beside=(-quality.margin,))
    return (
        f"{quality.metric} held ({level}{shown.text} against the base, one-sided bounds {shown.interval}, margin {given(quality.margin)})"
    )


def _cost(measured: RecordData, results: Results, configuration: str) -> str:
    value = results["cost"][configuration]
    return "" if isinstance(value, Absent) or ended_words(measured) else cost_of_a_run(values_at(results, configuration))


def _fault(results: Results, configuration: str) -> str:
    time, steps = results["recovery_time"][configuration], results["steps_lost"][configuration]
    if isinstance(time, Absent) or isinstance(steps, Absent):
        return ""
    return f"one killed worker cost {show(time).text} and {show(steps).text}"


def _conditions(measured: RecordData) -> str:
    launches = measured.experiment.launches
    scaling = measured.mode
    machine = machine_words(measured.before)
    confidence = f"{number(launches.confidence * 100, 0)} % intervals"
    ended = ended_words(measured)
    return f"Conditions: {scaling} scaling, {launch_words(measured)}{f', each {ended}' if ended else ''}, {confidence}{machine}."


def _not_measured(measured: RecordData, vector: Vector, results: Results, configuration: str) -> str:
    """Dimensions without a number anywhere, of those that were asked for."""
    unasked = measured.experiment.unasked
    missing = [
        dimension
        for dimension in DIMENSIONS
        if dimension not in unasked and all(row[dimension].status == "NOT_MEASURED" for row in vector.values())
    ]
    if "energy" not in unasked and "cost" not in missing and isinstance(results["energy"][configuration], Absent):
        missing.append("energy")
    return f" Not measured: {', '.join(missing)}." if missing else ""


JUDGING = Judging(dimensions=dimensions, recommend=recommend, status=status, sentence=sentence, layers=layers)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "3.58 [3.50, 3.66] times at 4", "keep 1 worker"; undecided: the speedup of the largest worker count."""
    workers = dict(zip(measured.configurations, measured.levels, strict=True))
    pick = None if judgement.verdict.status == "INCONCLUSIVE" else judgement.verdict.recommended
    if pick == measured.base and len(workers) > 1:
        return f"keep {count(workers[pick], 'workers')}"
    speedups = judgement.results.get("speedup", {})
    known = [name for name in workers if name != measured.base and isinstance(speedups.get(name), Estimate)]
    name = pick if pick in known else known[-1] if known else ""
    return f"{in_words(speedups[name], 'times')} at {workers[name]}" if name else ""
