"""Which configuration should be used?

recommended: the largest worker count that is faster than the base and passes every gate (`knee` in docs/definitions.md).  The other goals need quality held
and nothing wrong found, whatever the efficiency: cheapest (cost per item, else per run), fastest (time per unit of
work), and the largest under the deadline or the budget.  A configuration whose quality is not held is never picked.
With `verdict.only`, quality is required only if correctness is requested or scores are named; requested dimensions must be measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.judging import RESULT_GATES, Evidence, Vector, admissible
from fireassay.verdict.types import DIMENSIONS, DimensionResult, Finding, GateResult, Recommendation, Status


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
    """True if quality is requested but no score is named to judge it by."""
    return measured.experiment.quality is None and "correctness" in measured.experiment.verdict.wanted


def recommend(evidence: Evidence, vector: Vector = MappingProxyType({})) -> tuple[Recommendation, ...]:
    """The recommended configuration first, then one per further requested goal."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    dimensions = measured.experiment.verdict.wanted
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
