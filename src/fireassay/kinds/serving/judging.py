"""What is the verdict on a load on serving engines?

INVALID: an audit found that something other than the server was measured, or that requests are unaccounted for.
FAIL: responses were misrouted, agreement is below the required grade, a fault was not survived, or no load passes its
gates.  INCONCLUSIVE: the intervals straddle a requirement, or too few launches ended.  PASS: at least one load passes every
gate, and the largest of each engine and scenario is recommended.  Without a gate (no objectives, quality or budget) there is nothing
to pass: MEASURED, if every load was measured validly.

Up to which load the objectives are met: the value and its interval are those of the metric `capacity`, so that a record reports one number.
Only the bracket is certain: the largest load that met the objectives in at least half of the blocks and the next one, which did not;
between them the line is an assumption.  In a block the attainment is made non-increasing in the load (pooled adjacent violators, weighted
by requests: more load does not help).  If every load meets the objectives, or none does, there is only a bound.
Cannot tell: whether a longer load would still meet them (`littles_law` looks for a queue that grows).  Source of the pooling: Barlow et
al., "Statistical Inference under Order Restrictions", 1972.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, count, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import no_objectives, uncounted
from fireassay.kinds.serving.sentence import COSTS, SPEEDS, Group, dimensions, gated, groups_of, sentence, shown, unmeasured, worth
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.latency import E2E_P50, E2E_P95, E2E_P99, TTFT_P95, TTFT_P99
from fireassay.metrics.serving.objectives import capacity_of
from fireassay.spec.plan import Configuration
from fireassay.verdict.artifact import environment_facts
from fireassay.verdict.gates.trade_off import preference, preferred
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import NO_ENVIRONMENT, RESULT_GATES, Evidence, Judging, Methods, RuleAnswer, Vector, admissible, forced
from fireassay.verdict.phrases import in_words
from fireassay.verdict.types import Finding, GateResult, Recommendation, Status


def _means(_: RecordData, __: Results) -> RuleAnswer:
    return (
        "kept",
        (
            "a rate is a sum over launches divided by their time, a share is divided by the requests due; a percentile pools the requests of "
            "all launches, and percentiles are never averaged; nothing is averaged across loads or scenarios"
        ),
        "",
    )


def _statistic(_: RecordData, results: Results) -> RuleAnswer:
    tails = [metric.name for metric in (TTFT_P95, TTFT_P99, E2E_P95, E2E_P99) if _any(results, metric.name)]
    if not _any(results, E2E_P50.name):
        return "in part", "no latency was measured", "find out why no request was answered"
    if tails:
        return "kept", f"medians are reported with tails ({', '.join(tails)}) and the share of requests that met the objectives", ""
    return "in part", "medians are reported; the launches are too short or too few for tails", "send more requests"


def _any(results: Results, name: str) -> bool:
    return any(isinstance(value, Estimate) for value in results.get(name, {}).values())


def _factors(measured: RecordData, _: Results) -> RuleAnswer:
    facts = environment_facts(measured)
    if not facts:
        return NO_ENVIRONMENT
    schedules = measured.manifest.get("schedules") or {}
    if not schedules:
        return "in part", f"{facts}; the traffic sent has no digest", "measure with assay, which records a digest of every schedule"
    engines = measured.before.get("engines")
    traffic = f"{facts}; traffic, lengths, sampling and objectives are in the experiment, and {count(len(schedules), 'schedules')} recorded by digest"
    if not isinstance(engines, Mapping) or all(isinstance(engine, Mapping) and "absent" in engine for engine in engines.values()):
        return "in part", f"{traffic}; the engines do not report their versions", "name engine and version under [conditions]"
    return "kept", f"{traffic}; the engines' own description is recorded", ""


def _timing(measured: RecordData, _: Results) -> RuleAnswer:
    serving = measured.experiment.serving
    clients = count(serving.client.processes, "client process") if serving else ""
    return (
        "kept",
        (
            "a request's time runs from its due time, by a schedule made before the load, to the socket read that returned its text; "
            f"one host, one monotonic clock; client lag is reported, and a lagging client makes the record inadmissible ({clients})"
        ),
        "",
    )


def _bounds(_: RecordData, __: Results) -> RuleAnswer:
    remedy = "`assay doctor client` measures the client's limits; a hardware bound needs FLOP counts or bandwidth"
    return "in part", "shown against the offered load; no hardware bound was measured", remedy


METHODS = Methods(
    answers={3: _means, 8: _statistic, 9: _factors, 10: _timing, 11: _bounds},
    launches="a separate load from fresh client processes, in random order, with seeds shared within a round",
    run_times="per launch",
)


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    data, findings, gates = evidence.data, evidence.findings, evidence.gates
    if (already := forced(findings, gates)) is not None:
        return already
    if not gated(gates):
        return "MEASURED" if not unmeasured(data, evidence.results) else "INCONCLUSIVE"
    standings = [admissible(name, findings, gates) for name in data.configurations]
    if "PASS" in standings:
        return "PASS"
    return "FAIL" if all(standing == "FAIL" for standing in standings) else "INCONCLUSIVE"


# ---- which load ------------------------------------------------------------------------------------------------------


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
        picks += [_of_group(measured, key, passed, gates) for key, passed in passing.items()]
    picks += [] if invalid else [_saturated(measured, item, len(groups)) for item in saturations(measured)]
    right = [] if invalid else [name for name in measured.configurations if _is_right(name, findings, gates)]
    picks.append(_best(measured, results, COSTS, right, "cheapest", lowest=True))
    picks.append(_best(measured, results, SPEEDS, right, "fastest", lowest=False))
    return tuple(picks)


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
    tops = [preferred(measured, members) for members in passing.values() if members]
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
    return Recommendation(goal="recommended", configuration=best.name, sentence=f"{preference(measured)}{more}")


def _none(why: str) -> Recommendation:
    return Recommendation(goal="recommended", configuration=None, sentence=why)


def _speed(results: Results, name: str) -> float:
    values = (results.get(metric, {}).get(name) for metric in SPEEDS)
    return next((value.value for value in values if isinstance(value, Estimate)), 0.0)


def _of_group(measured: RecordData, key: Group, members: Sequence[Configuration], gates: Sequence[GateResult]) -> Recommendation:
    goal = f"recommended for {key[0]}, {key[1]}"
    if not members:
        return Recommendation(goal=goal, configuration=None, sentence="no load passes every gate")
    best = preferred(measured, members).name
    sentences = [gate.sentence for gate in gates if gate.configuration == best and gate.gate == "objectives"]
    return Recommendation(goal=goal, configuration=best, sentence="; ".join(sentences) or preference(measured))


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


# ---- up to which load the objectives are met -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """One engine at one scenario."""

    target: str
    scenario: str
    value: Value  # the highest load that meets the objectives; Absent: only a bound is known, the detail says which
    last: str | None  # the largest configuration that met them in at least half of the blocks; None: none did
    first: str | None  # the next larger one, which did not; None: none was tried


def saturations(measured: RecordData) -> tuple[Saturation, ...]:
    """One for each engine and scenario measured at two loads or more; none if it is unknown which requests met their objectives."""
    if no_objectives(measured) or uncounted(measured):
        return ()
    known = ((key, [member for member in members if member.load is not None]) for key, members in groups_of(measured).items())
    return tuple(_saturation(measured, key, members) for key, members in known if len(members) > 1)


def _saturation(measured: RecordData, key: tuple[str, str], members: Sequence[Configuration]) -> Saturation:
    assert measured.experiment.serving is not None
    least = measured.experiment.serving.objectives.attainment
    blocks = _blocks(measured, members)
    passes = [sum(pooled[index] >= least for pooled in (_pooled(met, due) for met, due in blocks)) for index in range(len(members))]
    admitted = [index for index, times in enumerate(passes) if blocks and 2 * times >= len(blocks)]
    last = admitted[-1] if admitted else None
    following = 0 if last is None else last + 1
    return Saturation(
        target=key[0],
        scenario=key[1],
        value=capacity_of(measured, members),
        last=None if last is None else members[last].name,
        first=members[following].name if following < len(members) else None,
    )


def _blocks(measured: RecordData, members: Sequence[Configuration]) -> list[tuple[list[float], list[float]]]:
    """Per block that holds every load: requests that met every objective, and requests that were due, by ascending load."""
    counted = measured.served.requests.filter("counted").join(measured.timed.select("launch"), on="launch", how="semi")
    tallied = counted.group_by("block", "configuration").agg(pl.col("met").sum(), pl.len().alias("due"))
    rates = []
    for block in tallied["block"].unique().sort().to_list():
        by_name = {row["configuration"]: row for row in tallied.filter(pl.col("block") == block).iter_rows(named=True)}
        if all(member.name in by_name for member in members):
            rows = [by_name[member.name] for member in members]
            rates.append(([float(row["met"]) for row in rows], [float(row["due"]) for row in rows]))
    return rates


def _pooled(met: Sequence[float], due: Sequence[float]) -> list[float]:
    """The shares made non-increasing by pooling adjacent violators."""
    groups: list[tuple[float, float, int]] = []  # met, due, members
    for hits, total in zip(met, due, strict=True):
        groups.append((hits, total, 1))
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] < groups[-1][0] * groups[-2][1]:
            (a, b, m), (c, d, n) = groups[-2:]
            groups[-2:] = [(a + c, b + d, m + n)]
    return [hits / total for hits, total, members in groups for _ in range(members)]


JUDGING = Judging(dimensions=dimensions, recommend=recommend, status=status, sentence=sentence, methods=METHODS)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


RATES = (("output_throughput", "tok/s"), ("request_throughput", "requests/s"))


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "2,700 [2,650, 2,750] tok/s at rate=8"; requests where the reply has no tokens."""
    for metric, unit in RATES:
        values = judgement.results.get(metric, {})
        known = [name for name in measured.configurations if isinstance(values.get(name), Estimate)]
        if known:
            pick = judgement.verdict.recommended
            name = pick if pick in known else known[-1]
            return f"{in_words(values[name], unit)}{f' at {name}' if len(values) > 1 else ''}"
    return ""
