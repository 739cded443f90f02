"""Which of two engines is better at the objectives?

Each side is taken at its own best load: the largest that passes every gate, as the verdict recommends it; without objectives both at
their largest common load.  What decides is the throughput of a replica, so that engines with unequal numbers of replicas compare;
replicas cost the same in one experiment, so this is also the order of tokens per dollar.  Equal loads are compared too.  All differences
are paired by block and decided by the rules of every comparison (`fireassay.verdict.comparison.decide`).
Cannot tell: which would win between two measured loads.  The best loads are chosen from the data that are then compared: near an
objective another run may choose another load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric
from fireassay.metrics.serving.throughput import INPUT_THROUGHPUT, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.spec.plan import Configuration
from fireassay.verdict.comparison.decide import decided, pair_of
from fireassay.verdict.comparison.groups import Group, Quality, qualities
from fireassay.verdict.comparison.rules import rules_of
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Change, Side
from fireassay.verdict.judge import Judgement

DECIDING = (OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT, INPUT_THROUGHPUT)
PER_REPLICA = "throughput_per_replica"


@dataclass(frozen=True, kw_only=True)
class SameLoad:
    """Both engines at one load: their configurations, and b against a."""

    load: float | None
    a: str
    b: str
    change: Change


@dataclass(frozen=True, kw_only=True)
class AOrB:
    """Two engines in one scenario. Every change is b against a, per replica."""

    a: str  # names of the engines
    b: str
    scenario: str
    metric: str  # whose value per replica is compared
    at_objectives: bool  # each at its largest load within the objectives; else both at their largest common load
    best_a: str | None  # configurations; None: no load of this engine is within the objectives
    best_b: str | None
    change: Change | None  # of the best loads; None: one side has none
    quality: Quality | None
    loads: tuple[SameLoad, ...]
    per_replica: Mapping[str, Value]  # configuration -> value


def a_or_b(measured: RecordData, judgement: Judgement) -> AOrB | None:
    """The comparison of a record's two engines; None if it has not two, or no throughput. Of an INVALID record no number counts."""
    engines = tuple(dict.fromkeys(configuration.target for configuration in measured.varied))
    metric = next((metric for metric in DECIDING if _numbers(judgement, metric)), None)
    if len(engines) != 2 or metric is None:
        return None
    a, b = engines
    per_replica = {name: _shared(value, _workers(measured, name)) for name, value in judgement.results[metric.name].items()}
    side = _side(measured, judgement, metric, per_replica)
    scenario, best = _scenario(measured, judgement, a, b)
    has_objectives = measured.experiment.serving is not None and measured.experiment.serving.objectives.any
    common = [(load, ours, theirs) for load, ours, theirs in _common(measured, scenario, a, b)]
    if not has_objectives and common:
        best = (common[-1][1], common[-1][2])
    ours, theirs = best
    pair = _changes(side, [(ours, theirs)], a, b)[0] if ours and theirs else None
    same = _changes(side, [(x, y) for _, x, y in common], a, b)
    return AOrB(
        a=a,
        b=b,
        scenario=scenario,
        metric=metric.name,
        at_objectives=has_objectives,
        best_a=ours,
        best_b=theirs,
        change=pair[0] if pair else None,
        quality=pair[1] if pair else None,
        loads=tuple(SameLoad(load=load, a=x, b=y, change=change) for (load, x, y), (change, _) in zip(common, same, strict=True)),
        per_replica=per_replica,
    )


def _numbers(judgement: Judgement, metric: Metric) -> bool:
    return any(isinstance(value, Estimate) for value in judgement.results.get(metric.name, {}).values())


def _workers(measured: RecordData, name: str) -> int:
    return next(configuration.workers for configuration in measured.varied if configuration.name == name)


def _shared(value: Value, replicas: int) -> Value:
    """A throughput per replica."""
    if not isinstance(value, Estimate):
        return value
    return replace(
        value,
        value=value.value / replicas,
        low=value.low / replicas,
        high=value.high / replicas,
        launch_values=tuple(one / replicas for one in value.launch_values),
        method=f"{value.method}; divided by the replicas",
    )


def _side(measured: RecordData, judgement: Judgement, metric: Metric, per_replica: Mapping[str, Value]) -> Side:
    """The record with the throughput per replica as a metric."""
    metrics = {**judgement.metrics, PER_REPLICA: replace(metric, name=PER_REPLICA, title=f"{metric.title} and replica")}
    results = {**judgement.results, PER_REPLICA: per_replica}
    return Side(label="", measured=measured, judgement=replace(judgement, metrics=metrics, results=results))


def _scenario(measured: RecordData, judgement: Judgement, a: str, b: str) -> tuple[str, tuple[str | None, str | None]]:
    """The first scenario in which both engines have a best load, else the first; and these loads."""
    scenarios = tuple(dict.fromkeys(configuration.scenario for configuration in measured.varied))
    picked = {row.goal: row.configuration for row in judgement.verdict.recommendations}
    best = {scenario: tuple(picked.get(f"recommended for {engine}, {scenario}") for engine in (a, b)) for scenario in scenarios}
    chosen = next((scenario for scenario in scenarios if all(best[scenario])), scenarios[0])
    ours, theirs = best[chosen]
    return chosen, (ours, theirs)


def _common(measured: RecordData, scenario: str, a: str, b: str) -> list[tuple[float | None, str, str]]:
    """(load, configuration of a, of b) of every load that both engines had, ascending."""
    members: dict[float | None, dict[str, Configuration]] = {}
    for configuration in measured.varied:
        if configuration.scenario == scenario:
            members.setdefault(configuration.load, {})[configuration.target] = configuration
    return [(load, both[a].name, both[b].name) for load, both in members.items() if a in both and b in both]


def _changes(side: Side, configurations: Sequence[tuple[str, str]], a: str, b: str) -> list[tuple[Change, Quality]]:
    """b against a for every pair of configurations, corrected over all of them."""
    groups = [[Group(label=a, side=side, configuration=x), Group(label=b, side=side, configuration=y)] for x, y in configurations]
    if not groups:
        return []
    rules = rules_of(groups[-1], PER_REPLICA, exploratory=False, varying=("engine",), days=Days())
    held = [qualities(row[0], row[1:])[b] for row in groups]
    metric = side.judgement.metrics[PER_REPLICA]
    pairs = [pair_of(metric, x, y, quality, rules, primary=True) for (x, y), quality in zip(groups, held, strict=True)]
    return list(zip(decided(pairs, rules), held, strict=True))
