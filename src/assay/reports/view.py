"""What does a report show?  One frozen tree with every text already written, from which all reports are made.

Numbers become text in `assay.metrics.format` and nowhere else; the raw value stays beside its text for JSON, Excel and
the pictures.  Nothing is left out silently: a dimension, metric or phase that was not measured is in the tree with its
reason.  Pure: the same record gives the same tree, in ten years too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from assay.metrics.base import ALL, Metric
from assay.metrics.collective_calls import asked_cells
from assay.metrics.estimate import Absent, Estimate, Value
from assay.metrics.format import Shown, count, given, percent, reading, scale_for, show
from assay.metrics.hosts import Network
from assay.metrics.hosts import network as network_of
from assay.metrics.measured import Measured
from assay.metrics.pairs import Pairs
from assay.metrics.pairs import of_record as pairs_of
from assay.reports import foreign, load_words, profiled, series, serving_series
from assay.reports.reading import ORDER, tool_of
from assay.reports.serving_series import ServingSeries
from assay.spec.collectives import Cell as CollectiveCell
from assay.spec.collectives import asked_of
from assay.spec.experiment import Experiment
from assay.spec.plan import Configuration
from assay.spec.serving import Serving
from assay.units import NS_PER_S
from assay.verdict.methods import ArtifactField, Rule, artifact, checklist
from assay.verdict.sentence import launch_words
from assay.verdict.timing import is_timing, own
from assay.verdict.types import DIMENSIONS, Finding, GateResult, LayerResult, LayerState, Recommendation, Status

if TYPE_CHECKING:
    from assay.verdict.judge import Judgement

STATUS_WORDS: Final[Mapping[str, str]] = {
    "PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive", "INVALID": "invalid", "NOT_MEASURED": "not measured",
}  # fmt: skip
STATUS_MEANINGS: Final[Mapping[str, str]] = {
    "PASS": "the recommended configuration passes every gate on admissible numbers",
    "FAIL": "on admissible numbers, something that was required does not hold",
    "INCONCLUSIVE": "the evidence is too small to recommend anything",
    "INVALID": "an audit found the record inadmissible; its numbers decide nothing",
    "NOT_MEASURED": "nothing was recorded that could answer",
}
TIMING_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "the time has an interval over launches",
    "INCONCLUSIVE": "too few launches for an interval that can be relied on",
}
COLLECTIVE_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "the data of every timed call were right, and every time has an interval over launches",
    "FAIL": "a collective gave wrong data",
    "INCONCLUSIVE": "something that was asked for has no number that can be relied on",
}
TIMING_FACTS: Final = ("Workload", "Launches", "Intervals", "Record", "Made")  # the conditions that a timing has
SEVERITIES: Final = ("invalid", "fail", "warning", "note")
DIMENSION_TITLES: Final[Mapping[str, str]] = {
    "correctness": "Correctness", "performance": "Performance", "cost": "Cost and energy", "reliability": "Reliability",
}  # fmt: skip
DIMENSION_QUESTIONS: Final[Mapping[str, str]] = {
    "correctness": "Did distribution preserve the result?",
    "performance": "Did the machines buy speed?",
    "cost": "Was it worth it?",
    "reliability": "Does it survive?",
}
LOAD_QUESTIONS: Final[Mapping[str, str]] = {
    "correctness": "Are the answers right, and did everybody get their own?",
    "performance": "How fast is it, and under how much load?",
    "cost": "What does an answer cost?",
    "reliability": "Does it survive?",
}
COLLECTIVE_QUESTIONS: Final[Mapping[str, str]] = {
    **DIMENSION_QUESTIONS,
    "correctness": "Were the data of the timed calls right?",
    "performance": "How fast are the collectives?",
    "cost": "What did measuring cost?",
}
NETWORK_QUESTIONS: Final[Mapping[str, str]] = {
    **DIMENSION_QUESTIONS,
    "correctness": "Was the result right?",
    "performance": "How fast is the way to the other hosts?",
    "cost": "What did looking cost?",
    "reliability": "Does everything arrive?",
}
NETWORK_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "every host answered, and every number has an interval over rounds",
    "FAIL": "a host never answered",
    "INCONCLUSIVE": "something that was asked for has no number that can be relied on",
}
QUALITY: Final = ("quality", "quality_difference")
WHOLE: Final = "whole experiment"


@dataclass(frozen=True, kw_only=True)
class Column:
    """A configuration: its key in records and JSON, what people call it, and its worker count."""

    key: str
    label: str
    workers: int
    engine: str = ""  # of a load
    scenario: str = ""
    load: float | None = None  # requests in flight, or requests per second
    group: str = ""  # of a load: engine and scenario, as far as there are several
    brief: str = ""  # of a load: the label without the group


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One dimension of one configuration."""

    status: Status
    word: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class VectorRow:
    """A configuration and its four dimensions, in the order of DIMENSIONS."""

    column: Column
    cells: Mapping[str, Cell]


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """A metric with its value per configuration key, or under ALL."""

    name: str
    title: str
    dimension: str
    unit: str  # as in the record
    shown_unit: str  # as in this row: "ms", "%"
    better: str
    formula: str
    primary: bool
    cells: Mapping[str, Shown]
    tool: str = ""  # the load generator that defines it so; empty for a definition of ours

    @property
    def known(self) -> bool:
        """Whether it has a number anywhere."""
        return any(shown.measured for shown in self.cells.values())


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """One gate on one configuration."""

    gate: str
    configuration: str
    label: str
    status: Status
    word: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class LayerRow:
    """One layer of the correctness of a training on several workers."""

    configuration: str
    label: str
    layer: str
    title: str
    state: LayerState
    sentence: str


@dataclass(frozen=True, kw_only=True)
class FindingRow:
    """What an audit found."""

    rule: str
    severity: str
    configuration: str | None  # None: the whole record
    where: str
    evidence: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class RecommendationRow:
    """A configuration picked for a reason; `configuration` is None where nothing qualifies."""

    goal: str
    configuration: str | None
    label: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class LaunchRow:
    """One launch as it happened. `wall_s` and `step_s` are raw readings, with their texts beside them."""

    number: int
    configuration: str
    label: str
    workers: int
    block: int
    order: int
    attempt: int
    role: str
    seed: int
    begin_utc: str
    status: str
    reason: str
    exit_code: int | None
    restarts: int
    wall_s: float
    wall: str
    steps: int
    step_s: float | None
    step: str
    warmup: int | None
    shape: str
    due: int = 0  # of a load: its requests without the cold ones
    answered: int = 0


@dataclass(frozen=True, kw_only=True)
class EnvironmentRow:
    """One fact about the machine, before and after the experiment."""

    key: str
    before: str
    after: str
    changed: bool


@dataclass(frozen=True, kw_only=True)
class EnvironmentGroup:
    """The facts under one heading."""

    name: str
    rows: tuple[EnvironmentRow, ...]

    @property
    def changed(self) -> int:
        """How many facts differ between before and after."""
        return sum(row.changed for row in self.rows)

    @property
    def surprising(self) -> bool:
        """Whether something changed that is no counter: a version, a commit, a setting."""
        return any(row.changed and not (_numeric(row.before) and _numeric(row.after)) for row in self.rows)


def _numeric(text: str) -> bool:
    try:
        float(text.replace("−", "-"))
    except ValueError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A condition under which the numbers hold."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that any report shows."""

    name: str
    record: str
    created: str
    assay_version: str
    state: str
    sealed: bool
    confidence: str
    status: Status
    word: str
    meaning: str
    sentence: str
    columns: tuple[Column, ...]
    base: str
    vector: tuple[VectorRow, ...]
    metrics: tuple[MetricRow, ...]
    gates: tuple[GateRow, ...]
    findings: tuple[FindingRow, ...]
    recommendations: tuple[RecommendationRow, ...]
    launches: tuple[LaunchRow, ...]
    environment: tuple[EnvironmentGroup, ...]
    conditions: tuple[Fact, ...]
    overhead: tuple[tuple[str, Shown], ...]  # the instrument's own cost, per configuration or for the whole experiment
    answers: Callable[[], tuple[Rule, ...]] = field(
        repr=False, compare=False
    )  # `rules`, worked out by whoever shows them
    artifact: tuple[ArtifactField, ...]  # what a paper's checklist asks for
    series: series.Series
    efficiency_gate: float | None
    quality_metric: str | None
    quality_margin: float | None
    serving: ServingSeries | None = None  # of a record about serving
    load_word: str = ""  # of a load: what `Column.load` counts, "concurrency" or "rate"
    foreign: tuple[Fact, ...] = ()  # of an imported record: its origin, its meanings, what its tool reported
    collectives: tuple[CollectiveCell, ...] = ()  # of a record that times collectives: what was asked for
    network: Network | None = None  # of a look at the network
    pairs: tuple[Pairs, ...] = ()  # of a record that times messages between pairs of ranks
    layers: tuple[LayerRow, ...] = ()  # of a training on several workers: does it compute what one worker computes?
    profiles: tuple[Mapping[str, Any], ...] = ()  # profiled launches: see `assay.reports.profiled`
    timing: tuple[Fact, ...] = ()  # of a record that times a command or a function: what the time rests on

    @property
    def of_links(self) -> bool:
        """Whether it is about what lies between workers or hosts, and not about a workload."""
        return bool(self.collectives) or self.network is not None

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The twelve rules of Hoefler and Belli, answered."""
        return self.answers()

    @property
    def questions(self) -> Mapping[str, str]:
        """What each dimension asks."""
        if self.collectives:
            return COLLECTIVE_QUESTIONS
        if self.network is not None:
            return NETWORK_QUESTIONS
        return DIMENSION_QUESTIONS if self.serving is None else LOAD_QUESTIONS

    @property
    def primary(self) -> tuple[MetricRow, ...]:
        """The metrics of the summary table."""
        return tuple(row for row in self.metrics if row.primary)

    def of_dimension(self, dimension: str) -> tuple[MetricRow, ...]:
        """The metrics of one dimension, as we define them."""
        return tuple(row for row in self.metrics if row.dimension == dimension and not row.tool)

    @property
    def of_tools(self) -> tuple[MetricRow, ...]:
        """Other tools' definitions of the same quantities."""
        return tuple(row for row in self.metrics if row.tool)

    @property
    def groups(self) -> tuple[str, ...]:
        """Engines and scenarios, each once, as far as there are several."""
        return tuple(dict.fromkeys(column.group for column in self.columns))

    def metric(self, name: str) -> MetricRow | None:
        """A metric by name."""
        return next((row for row in self.metrics if row.name == name), None)

    def label(self, key: str) -> str:
        """What people call a configuration."""
        return next((column.label for column in self.columns if column.key == key), WHOLE if key == ALL else key)

    def reportable(self, key: str) -> bool:
        """Whether a configuration's numbers may stand in a paper: the record is admissible, its result was not found wrong."""
        row = next(row for row in self.vector if row.column.key == key)
        return self.status != "INVALID" and row.cells["correctness"].status in ("PASS", "NOT_MEASURED")

    @property
    def recommended(self) -> str | None:
        """The key of the recommended configuration."""
        return next((row.configuration for row in self.recommendations if row.goal == "recommended"), None)

    @property
    def changes(self) -> int:
        """How many facts about the machine changed during the experiment."""
        return sum(group.changed for group in self.environment)


def build(measured: Measured, judgement: Judgement) -> View:
    """The whole tree of a record and its judgement."""
    columns = _columns(measured)
    labels = {column.key: column.label for column in columns}
    verdict, experiment, manifest = judgement.verdict, measured.experiment, measured.manifest
    served = serving_series.build(measured)
    metrics = _timing_metrics(judgement) if is_timing(measured) else _metrics(judgement, experiment.workload.work)
    if experiment.serving is not None and experiment.quality is None:  # of a load, quality is asked for or it is not
        metrics = tuple(replace(row, primary=row.primary and row.name not in QUALITY) for row in metrics)
    return View(
        name=experiment.name,
        record=str(manifest.get("id", "")),
        created=str(manifest.get("created_utc", "")),
        assay_version=str(manifest.get("assay_version", "")),
        state=measured.state,
        sealed=measured.sealed,
        confidence=percent(measured.confidence, 4),
        status=verdict.status,
        word=STATUS_WORDS[verdict.status],
        meaning=_meanings(measured)[verdict.status],
        sentence=verdict.sentence,
        columns=columns,
        base=measured.base,
        vector=tuple(_vector_row(column, verdict.dimensions.get(column.key, {})) for column in columns),
        metrics=metrics,
        gates=_gate_rows(verdict.gates, labels),
        findings=_findings(verdict.findings, labels),
        layers=_layers(verdict.layers, labels),
        recommendations=() if is_timing(measured) or measured.subject in ("collectives", "network") else _recommendation_rows(verdict.recommendations, labels),
        launches=_launches(measured, labels, served),
        environment=_environment(manifest.get("environment")),
        conditions=_conditions(experiment, manifest, measured, labels[measured.base]),
        overhead=_overhead(metrics, labels) if served is None else _lag(metrics, labels),
        answers=lambda: checklist(measured, judgement),
        artifact=artifact(measured, judgement),
        series=series.build(measured, judgement.results),
        efficiency_gate=experiment.gates.efficiency,
        quality_metric=experiment.quality.metric if experiment.quality else None,
        quality_margin=experiment.quality.margin if experiment.quality else None,
        timing=_timing(measured, judgement) if is_timing(measured) else (),
        collectives=asked_cells(measured) if measured.subject == "collectives" else (),
        pairs=pairs_of(measured) if measured.subject == "collectives" else (),
        network=network_of(measured) if measured.subject == "network" else None,
        profiles=profiled.of_record(measured),
        foreign=tuple(Fact(name=name, text=words) for name, words in foreign.facts(measured, judgement.results)),
        serving=served,
        load_word="" if experiment.serving is None else "concurrency" if experiment.serving.concurrency else "rate",
    )  # fmt: skip


def _meanings(measured: Measured) -> Mapping[str, str]:
    if measured.subject == "collectives":
        return COLLECTIVE_MEANINGS
    if measured.subject == "network":
        return NETWORK_MEANINGS
    return TIMING_MEANINGS if is_timing(measured) else STATUS_MEANINGS


def _columns(measured: Measured) -> tuple[Column, ...]:
    if (serving := measured.experiment.serving) is not None:
        return tuple(_load_column(serving, one) for one in measured.varied)
    return tuple(
        Column(key=one.name, label=_label(measured, one.workers), workers=one.workers) for one in measured.varied
    )


def _label(measured: Measured, workers: int) -> str:
    if measured.subject == "network":
        return "the network"
    return "a call" if is_timing(measured) else _workers(workers)


def _load_column(serving: Serving, one: Configuration) -> Column:
    """A load is called "8 in flight" or "5 req/s", after its engine and scenario where there are several."""
    group, load = load_words.group_of(serving, one), load_words.load_of(serving, one)
    return Column(
        key=one.name, label=f"{group}, {load}" if group else load, workers=one.workers, engine=one.target,
        scenario=one.scenario, load=one.load, group=group, brief=load,
    )  # fmt: skip


def _workers(level: int) -> str:
    return count(level, "workers")


def _place(configuration: str | None) -> str:
    return WHOLE if configuration in (None, ALL) else str(configuration)


def _vector_row(column: Column, dimensions: Mapping[str, Any]) -> VectorRow:
    cells = {}
    for dimension in DIMENSIONS:
        result = dimensions.get(dimension)
        status: Status = "NOT_MEASURED" if result is None else result.status
        sentence = "nothing in the record answers this" if result is None else result.sentence
        cells[dimension] = Cell(status=status, word=STATUS_WORDS[status], sentence=sentence)
    return VectorRow(column=column, cells=cells)


def _metrics(judgement: Judgement, work: str) -> tuple[MetricRow, ...]:
    """Every metric that was judged: by dimension, the primary ones first, then in the order in which people look."""
    rows = [_metric_row(judgement.metrics[name], values, work) for name, values in judgement.results.items()]
    dimensions = {dimension: place for place, dimension in enumerate(DIMENSIONS)}
    reading = {name: place for place, name in enumerate(ORDER)}

    def place(row: MetricRow) -> tuple[int, bool, int, str]:
        known = reading.get(row.name, len(reading))
        return dimensions.get(row.dimension, len(dimensions)), not row.primary, known, row.name

    return tuple(sorted(rows, key=place))


def _timing_metrics(judgement: Judgement) -> tuple[MetricRow, ...]:
    """What a timing is about, all of it in the summary: no speedup of one command over itself, no wall time of a round."""
    rows = (_metric_row(judgement.metrics[name], values, "calls") for name, values in own(judgement.results).items())
    return tuple(replace(row, primary=True) for row in rows)


def _timing(measured: Measured, judgement: Judgement) -> tuple[Fact, ...]:
    """What the time rests on and what to beware of, besides the numbers and the findings, which stand elsewhere."""
    from assay.reports.timing import lines, summary

    made = summary(measured, judgement, measured.experiment.name)
    found = {finding.evidence for finding in judgement.verdict.findings}
    rows = lines(made, what="starts" if measured.experiment.workload.runner == "command" else "trials")
    return tuple(
        Fact(name=name, text=words)
        for name, words in rows
        if name in ("spread", "floor", "note") and words not in found
    )


def _metric_row(metric: Metric, values: Mapping[str, Value], work: str) -> MetricRow:
    scale = scale_for(metric.unit, (v.value for v in values.values() if isinstance(v, Estimate)), work)
    return MetricRow(
        name=metric.name, title=metric.title, dimension=metric.dimension, unit=metric.unit, shown_unit=scale.label,
        better=metric.better, formula=metric.formula, primary=metric.primary,
        cells={key: show(value, scale) for key, value in values.items()}, tool=tool_of(metric.name),
    )  # fmt: skip


def _gate_rows(gates: tuple[GateResult, ...], labels: Mapping[str, str]) -> tuple[GateRow, ...]:
    return tuple(
        GateRow(
            gate=gate.gate, configuration=gate.configuration, status=gate.status, word=STATUS_WORDS[gate.status],
            label=labels.get(gate.configuration, _place(gate.configuration)), sentence=gate.sentence,
        )
        for gate in gates
    )  # fmt: skip


def _recommendation_rows(picks: tuple[Recommendation, ...], labels: Mapping[str, str]) -> tuple[RecommendationRow, ...]:
    return tuple(
        RecommendationRow(
            goal=pick.goal, configuration=pick.configuration, sentence=pick.sentence,
            label="none" if pick.configuration is None else labels.get(pick.configuration, pick.configuration),
        )
        for pick in picks
    )  # fmt: skip


def _layers(layers: Mapping[str, tuple[LayerResult, ...]], labels: Mapping[str, str]) -> tuple[LayerRow, ...]:
    return tuple(
        LayerRow(
            configuration=name, label=labels.get(name, name), layer=one.layer, title=one.title, state=one.state,
            sentence=one.sentence,
        )
        for name, results in layers.items() for one in results
    )  # fmt: skip


def _findings(findings: tuple[Finding, ...], labels: Mapping[str, str]) -> tuple[FindingRow, ...]:
    worst_first = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return tuple(
        FindingRow(
            rule=finding.rule, severity=finding.severity, evidence=finding.evidence, remedy=finding.remedy,
            configuration=finding.configuration,
            where=labels.get(finding.configuration or "", _place(finding.configuration)),
        )
        for finding in worst_first
    )  # fmt: skip


def _launches(measured: Measured, labels: Mapping[str, str], served: ServingSeries | None) -> tuple[LaunchRow, ...]:
    rows = _launch_rows(measured, labels)
    if served is None:
        return rows
    tallies = ((row, served.tallies.get(row.number)) for row in rows)
    return tuple(replace(row, due=tally.due, answered=tally.answered) if tally else row for row, tally in tallies)


def _launch_rows(measured: Measured, labels: Mapping[str, str]) -> tuple[LaunchRow, ...]:
    steps = measured.global_steps.group_by("launch").agg(
        pl.len().alias("steps"), pl.col("step_s").median().alias("step_s")
    )
    steady = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("steady_s"))
    launches = measured.table("launches").sort("launch")
    joined = launches.join(steps, on="launch", how="left").join(steady, on="launch", how="left").sort("launch")
    return tuple(_launch_row(row, measured, labels) for row in joined.iter_rows(named=True))


def _launch_row(row: Mapping[str, Any], measured: Measured, labels: Mapping[str, str]) -> LaunchRow:
    wall_s = (row["end_ns"] - row["begin_ns"]) / NS_PER_S
    step_s = row["steady_s"] if row["steady_s"] is not None else row["step_s"]
    state = measured.steady.get(row["launch"]) if row["steps"] else None
    return LaunchRow(
        number=row["launch"], configuration=row["configuration"],
        label=labels.get(row["configuration"], row["configuration"]), workers=row["workers"], block=row["block"],
        order=row["order"], attempt=row["attempt"], role=row["role"], seed=row["seed"], begin_utc=row["begin_utc"],
        status=row["status"], reason=row["reason"], exit_code=row["exit_code"], restarts=row["restarts"],
        wall_s=wall_s, wall=reading(wall_s, "s"), steps=row["steps"] or 0, step_s=step_s, step=reading(step_s, "s"),
        warmup=state.warmup if state else None, shape=state.kind if state else "",
    )  # fmt: skip


def _environment(environment: object) -> tuple[EnvironmentGroup, ...]:
    """Both snapshots flattened to dotted keys, grouped by their first part.

    A fact of one snapshot alone counts as changed, unless its whole group was read only once.
    """
    snapshots = environment if isinstance(environment, Mapping) else {}
    before, after = (dict(_flat(snapshots.get(when) or {})) for when in ("before", "after"))
    read_twice = {key.partition(".")[0] for key in before} & {key.partition(".")[0] for key in after}
    groups: dict[str, list[EnvironmentRow]] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        head, _, rest = key.partition(".")
        old, new = before.get(key, "–"), after.get(key, "–")
        row = EnvironmentRow(key=rest or head, before=old, after=new, changed=head in read_twice and old != new)
        groups.setdefault(head, []).append(row)
    return tuple(EnvironmentGroup(name=name, rows=tuple(rows)) for name, rows in groups.items())


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and set(value) == {"absent"}:
        yield prefix, f"not known: {value['absent']}"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(inner, Mapping) for inner in value):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{prefix}.{place}")
    elif prefix:
        yield prefix, _plain(value)


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return given(value, digits=6)
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(inner) for inner in value) or "none"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _conditions(experiment: Experiment, manifest: Mapping[str, Any], measured: Measured, base: str) -> tuple[Fact, ...]:
    """What was asked for: the conditions without which no number of the report may be quoted."""
    if experiment.serving is not None:
        asked = load_words.conditions(experiment, experiment.serving, manifest, measured)
        words = foreign.conditions(asked, measured)
        return tuple(Fact(name=name, text=text) for name, text in words.items())
    launches, quality, prices = experiment.launches, experiment.quality, experiment.prices
    facts = {
        "Workload": " ".join((experiment.workload.script, *experiment.workload.arguments)),
        "Configurations": ", ".join(str(level) for level in measured.levels) + " workers",
        "Scaling": f"{measured.mode}{' by the recorded work' if experiment.scaling.mode == 'auto' else ''}; relative to {base}",
        "Launches": f"{launch_words(measured)}, seed {launches.seed}",
        "Intervals": f"{percent(launches.confidence, 4)} confidence; the launch is the unit of analysis",
        "Quality": "not asked for" if quality is None else (
            f"{quality.metric}, {quality.direction} is better; held if it loses less than {given(quality.margin)}"
        ),
        "Gates": _gates(experiment),
        "Prices": "none given" if prices is None else (
            f"${given(prices.usd_per_worker_hour)} per worker-hour ({prices.as_of.isoformat()}, {prices.source})"
        ),
        "Energy": experiment.energy.source,
        "Faults": "; ".join(_fault(fault, measured) for fault in experiment.faults) or "none",
        "Record": f"{manifest.get('id', 'unnamed')}, {measured.state}, {'sealed' if measured.sealed else 'not sealed'}",
        "Made": f"{manifest.get('created_utc', 'unknown time')} by assay {manifest.get('assay_version', '?')}",
    }  # fmt: skip
    if is_timing(measured):
        facts = {**facts, "Launches": _rounds(experiment, measured)}
    if measured.subject == "collectives":
        left_out = ("Scaling", "Quality", "Gates", "Faults")
        facts = {
            **{name: text for name, text in facts.items() if name not in left_out},
            **_of_collectives(experiment, measured),
        }
    if measured.subject == "network":
        facts = {name: facts[name] for name in ("Workload", "Launches", "Intervals", "Record", "Made")}
    shown = TIMING_FACTS if is_timing(measured) else tuple(facts)
    return tuple(Fact(name=name, text=facts[name]) for name in shown)


def _of_collectives(experiment: Experiment, measured: Measured) -> dict[str, str]:
    """What was timed, and what carried it, in the workers' own words."""
    asked = asked_of(experiment)
    sizes = asked.every_size
    told = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
    engine = json.loads(told[0]) if len(told) else {}
    words = {"backend": asked.backend, **{key: value for key, value in engine.items() if value is not None}}
    return {
        "Workload": f"{', '.join(asked.operations)} of {asked.dtype}, {count(len(sizes), 'sizes')} from {sizes[0]} to {sizes[-1]} bytes",
        "Calls": f"{asked.warm_up} to warm up; loops of at most {asked.calls} back to back after a barrier, at least {asked.batches}, "
        f"about {given(asked.seconds)} s of each size; the slowest rank; through {given(asked.memory_mib)} MiB of memory",
        "Engine": "; ".join(f"{key} {value}" for key, value in words.items()),
    }  # fmt: skip


def _rounds(experiment: Experiment, measured: Measured) -> str:
    """A timing has no seeds and one configuration: how its launches were asked for."""
    words = launch_words(measured).replace(" per configuration in randomised blocks", "")
    timing = experiment.timing
    each = f"{count(timing.trials, 'trials')} each" if timing.trials else f"of at least {given(timing.round_s)} s"
    return f"{words}, {each}, after at least {timing.warm_up} to warm up"


def _gates(experiment: Experiment) -> str:
    gates = experiment.gates
    asked = (
        ("efficiency ≥ ", gates.efficiency, ""),
        ("wall time ≤ ", gates.deadline_s, " s"),
        ("cost of a run ≤ $", gates.budget_usd, ""),
        ("admissible at ", gates.required_workers, " workers"),
    )
    return ", ".join(f"{text}{given(value)}{unit}" for text, value, unit in asked if value is not None) or "none"


def _fault(fault: Any, measured: Measured) -> str:
    levels = ", ".join(str(level) for level in fault.levels) or str(max(measured.levels))
    return f"{fault.kind} (SIG{fault.signal}) at {levels} workers, within {fault.within_steps} steps of a checkpoint"


def _overhead(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    row = next((row for row in metrics if row.name == "instrument_overhead"), None)
    if row is None or not row.cells:
        missing = Absent(reason="not_measured", detail="the record does not say what the instrument itself cost")
        return ((WHOLE, show(missing)),)
    return tuple((labels.get(key, _place(key)), shown) for key, shown in row.cells.items())


def _lag(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    """What a client costs is that it sends late: the worst of the loads."""
    cells = next((row.cells for row in metrics if row.name == "send_lag_p99"), {})
    known = [(shown.value.value, key) for key, shown in cells.items() if isinstance(shown.value, Estimate)]
    if not known:
        missing = Absent(
            reason="insufficient", detail="no load has enough requests for the p99 of how late they were sent"
        )
        return (("send lag, p99", next(iter(cells.values()), show(missing)) if len(cells) == 1 else show(missing)),)
    worst = max(known)[1]
    return ((f"send lag, p99, at its worst ({labels[worst]})", cells[worst]),)
