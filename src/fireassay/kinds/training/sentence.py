"""Which one sentence may be quoted?  The number, its interval and its conditions, or why there is none.

It names the dimensions that were not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given, number, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended_words
from fireassay.metrics.metric import Results
from fireassay.spec.plan import configuration_name
from fireassay.verdict.judging import Evidence, Vector
from fireassay.verdict.phrases import launch_words, machine_words
from fireassay.verdict.types import DIMENSIONS, DimensionResult, Finding, GateResult, Recommendation, Verdict


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
    required, dimensions = measured.experiment.gates.required_workers, measured.experiment.verdict.wanted
    if required is None or (measured.experiment.quality is None and "correctness" in dimensions):
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
    return "" if isinstance(value, Absent) or ended_words(measured) else f"{show(value).full} a run"


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
