"""Which load should each engine carry, up to which load are the objectives met, and which is cheapest and fastest?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, show
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving.dimensions import gated
from fireassay.kinds.serving.phrases import COSTS, SPEEDS, shown, worth
from fireassay.kinds.serving.saturation import Saturation, saturations
from fireassay.metrics.metric import Results
from fireassay.spec.plan import Configuration
from fireassay.verdict.judging import RESULT_GATES, Evidence, Vector, admissible
from fireassay.verdict.types import Finding, GateResult, Recommendation


def recommend(evidence: Evidence, _: Vector) -> tuple[Recommendation, ...]:
    """The recommended load first, one for each engine and scenario where there are several, then the cheapest and the fastest."""
    measured, results, findings, gates = evidence.data, evidence.results, evidence.findings, evidence.gates
    invalid = any(finding.severity == "invalid" for finding in findings)
    groups = groups_of(measured)
    passing = {
        key: [item for item in members if not invalid and admissible(item.name, findings, gates) == "PASS"]
        for key, members in groups.items()
    }
    picks = [_recommended(measured, results, passing, gates, invalid=invalid)]
    if len(groups) > 1 and gated(gates) and not invalid:
        picks += [_largest(key, passed, gates) for key, passed in passing.items()]
    picks += [] if invalid else [_saturated(measured, item, len(groups)) for item in saturations(measured)]
    right = [] if invalid else [name for name in measured.configurations if _is_right(name, findings, gates)]
    picks.append(_best(measured, results, COSTS, right, "cheapest", lowest=True))
    picks.append(_best(measured, results, SPEEDS, right, "fastest", lowest=False))
    return tuple(picks)


Group = tuple[str, str]  # engine, scenario


def groups_of(measured: RecordData) -> dict[Group, list[Configuration]]:
    """Engine and scenario -> its configurations by ascending load."""
    groups: dict[Group, list[Configuration]] = {}
    for configuration in measured.varied:
        groups.setdefault((configuration.target, configuration.scenario), []).append(configuration)
    return groups


def _is_right(name: str, findings: Sequence[Finding], gates: Sequence[GateResult]) -> bool:
    """No audit and no gate on results found an error; what was not measured excludes nothing."""
    of_result = [gate for gate in gates if gate.configuration == name and gate.gate in RESULT_GATES]
    return admissible(name, findings, of_result) != "FAIL"


def _recommended(
    measured: RecordData, results: Results, passing: Mapping[Group, Sequence[Configuration]], gates: Sequence[GateResult], *, invalid: bool
) -> Recommendation:
    if invalid:
        return _none("the record is inadmissible, so no load can be recommended")
    if not gated(gates):
        return _none("no objective was requested (serving.objectives), so no load can be called the largest that is good enough")
    tops = [members[-1] for members in passing.values() if members]
    if not tops:
        return _none("no load passes every gate")
    scenario = tops[0].scenario
    rivals = [top for top in tops if top.scenario == scenario]  # other scenarios have other lengths, so their rates do not compare
    best = max(rivals, key=lambda top: _speed(results, top.name))
    others = [top.target for top in rivals if top is not best]
    more = (
        f", with the highest goodput; {' and '.join(others)} {'passes' if len(others) == 1 else 'pass'} at {'its' if len(others) == 1 else 'their'} own"
        if others
        else ""
    )
    return Recommendation(goal="recommended", configuration=best.name, sentence=f"the largest load that passes every gate{more}")


def _none(why: str) -> Recommendation:
    return Recommendation(goal="recommended", configuration=None, sentence=why)


def _speed(results: Results, name: str) -> float:
    values = (results.get(metric, {}).get(name) for metric in SPEEDS)
    return next((value.value for value in values if isinstance(value, Estimate)), 0.0)


def _largest(key: Group, members: Sequence[Configuration], gates: Sequence[GateResult]) -> Recommendation:
    goal = f"recommended for {key[0]}, {key[1]}"
    if not members:
        return Recommendation(goal=goal, configuration=None, sentence="no load passes every gate")
    sentences = [gate.sentence for gate in gates if gate.configuration == members[-1].name and gate.gate == "objectives"]
    return Recommendation(
        goal=goal, configuration=members[-1].name, sentence="; ".join(sentences) or "the largest load that passes every gate"
    )


def _saturated(measured: RecordData, saturation: Saturation, groups: int) -> Recommendation:
    """Up to which load the objectives are met; the configuration is the largest measured one that met them."""
    goal = "saturation" if groups == 1 else f"saturation of {saturation.target}, {saturation.scenario}"
    if isinstance(saturation.value, Absent):
        return Recommendation(goal=goal, configuration=saturation.last, sentence=saturation.value.detail)
    unit = " requests/s" if measured.experiment.serving and measured.experiment.serving.rate else " requests in flight"
    bracket = (
        f"between {saturation.last} and {saturation.first}, on a line through the log odds of a miss"
        if saturation.last and saturation.first
        else "on a line through the log odds of a miss"
    )
    limit = show(saturation.value, Scale(factor=1.0, after=unit)).full
    return Recommendation(goal=goal, configuration=saturation.last, sentence=f"objectives are met up to {limit}, {bracket}")


def _best(
    measured: RecordData, results: Results, metrics: Sequence[str], right: Sequence[str], goal: str, *, lowest: bool
) -> Recommendation:
    """The best by the first metric that is known for any of the configurations."""
    for metric in metrics:
        values = {name: value for name in right if isinstance(value := results.get(metric, {}).get(name), Estimate)}
        if values and (lowest or max(value.value for value in values.values()) > 0.0):
            sign = 1.0 if lowest else -1.0
            best = min(values, key=lambda name: sign * values[name].value)
            return Recommendation(goal=goal, configuration=best, sentence=_with_rivals(metric, values, best))
    why = next((v.detail for metric in metrics for v in results.get(metric, {}).values() if isinstance(v, Absent)), "")
    return Recommendation(goal=goal, configuration=None, sentence=f"not measured{': ' if why else ''}{why}")


def _with_rivals(metric: str, values: Mapping[str, Estimate], best: str) -> str:
    """The number, and the configurations that its interval does not separate from it."""
    value = values[best]
    rivals = [name for name, other in values.items() if name != best and other.low <= value.high and value.low <= other.high]
    text = f"{worth(metric)} {shown(metric, value).full}"
    return f"{text}; not separated from {' and '.join(rivals)} by these intervals" if rivals else text
