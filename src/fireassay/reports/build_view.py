"""What does a report show?  One frozen tree with all its text, from which every report is made.

Numbers become text in `fireassay.estimates.format` and nowhere else. Nothing is omitted silently: a dimension, metric or phase that was
not measured is in the tree with its reason. Pure: the same record always gives the same tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import Shown, count, given, percent, reading, show
from fireassay.estimates.price_words import price_words
from fireassay.frames.carbon import grid_words
from fireassay.frames.noise import disturbances
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import ended_words
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.time import INSTRUMENT_OVERHEAD
from fireassay.reports.pages import profile
from fireassay.reports.view import (
    Cell,
    Column,
    EnvironmentGroup,
    EnvironmentRow,
    Fact,
    FindingRow,
    GateRow,
    LaunchRow,
    LayerRow,
    MetricRow,
    RecommendationRow,
    VectorRow,
    View,
)
from fireassay.reports.words import SEVERITIES, STATUS_WORDS, WHOLE, place_of
from fireassay.spec.experiment import Experiment
from fireassay.units import NS_PER_S
from fireassay.verdict.phrases import launch_words, titled
from fireassay.verdict.types import DIMENSIONS, Finding, GateResult, LayerResult, Recommendation, Status

if TYPE_CHECKING:
    from fireassay.verdict.judge import Judgement


QUALITY: Final = ("quality", "quality_difference")
OF_A_RUN: Final = ("wall_time", "cost", *QUALITY)  # of a job that ran to its end
AS_RECORDED: Final = (
    *("configuration", "workers", "block", "order", "attempt", "role", "seed", "begin_utc", "status", "reason", "exit_code", "restarts"),
)


def _columns(measured: RecordData) -> tuple[Column, ...]:
    return tuple(
        Column(key=configuration.name, label=measured.kind.label or count(configuration.workers, "workers"), workers=configuration.workers)
        for configuration in measured.varied
    )


@dataclass(frozen=True, kw_only=True)
class KindView:
    """The parts of a view that depend on the kind of record: `VIEW` in `fireassay.kinds.<kind>.show`, if defined."""

    columns: Callable[[RecordData], tuple[Column, ...]] = _columns
    conditions: Callable[[RecordData, str], Mapping[str, str]] = lambda measured, base: requested(measured, base)  # of its label
    fields: Callable[[View, RecordData, Judgement], Mapping[str, Any]] = lambda *_: {}  # fields of the view to replace


def build(measured: RecordData, judgement: Judgement) -> View:
    """The whole tree of a record and its judgement."""
    kind_view: KindView = catalog.part("kinds", measured.kind.name, "show", "VIEW", KindView())
    columns = kind_view.columns(measured)
    labels = {column.key: column.label for column in columns}
    verdict, experiment, manifest = judgement.verdict, measured.experiment, measured.manifest
    metrics = metric_rows(judgement, experiment.workload.work)
    if ended_words(measured):
        metrics = tuple(replace(row, primary=row.primary and row.name not in OF_A_RUN) for row in metrics)
    conditions = kind_view.conditions(measured, labels[measured.base])
    view = View(
        name=experiment.name,
        record=str(manifest.get("id", "")),
        created=str(manifest.get("created_utc", "")),
        assay_version=str(manifest.get("assay_version", "")),
        state=measured.state,
        sealed=measured.sealed,
        seal=measured.seal,
        seal_words=measured.seal_words,
        confidence=percent(measured.confidence, 4),
        status=verdict.status,
        word=measured.kind.word(verdict.status, STATUS_WORDS),
        kind=measured.kind,
        meaning=measured.kind.meanings[verdict.status],
        sentence=verdict.sentence,
        columns=columns,
        base=measured.base,
        vector=tuple(_vector_row(column, verdict.dimensions.get(column.key, {})) for column in columns),
        metrics=metrics,
        gates=_gate_rows(verdict.gates, labels),
        findings=_findings(verdict.findings, labels),
        layers=_layers(verdict.layers, labels),
        wanted=experiment.verdict.wanted,
        unasked=experiment.unasked,
        recommendations=_recommendation_rows(verdict.recommendations, labels) if measured.kind.chooses else (),
        launches=launch_rows(measured, labels),
        environment=environment_groups(manifest.get("environment")),
        conditions=tuple(Fact(name=name, text=conditions[name]) for name in measured.kind.facts or conditions),
        overhead=overhead(metrics, labels),
        measured=measured,
        judgement=judgement,
        efficiency_gate=experiment.gates.efficiency,
        quality_metric=experiment.quality.metric if experiment.quality else None,
        quality_margin=experiment.quality.margin if experiment.quality else None,
        profiles=profile.of_record(measured),
        foreign=_origin(measured.foreign),
    )
    return replace(view, **kind_view.fields(view, measured, judgement))


def _origin(foreign: Mapping[str, Any] | None) -> tuple[Fact, ...]:
    """Where an imported record comes from."""
    if foreign is None:
        return ()
    text = f"{titled(foreign)}: {foreign.get('file')}, SHA-256 {str(foreign.get('sha256'))[:16]} ..."
    return (Fact(name="Imported from", text=text),)


def contradictions(foreign: Mapping[str, Any]) -> Iterator[Fact]:
    """What the file of an imported record does not state, and where it contradicts itself."""
    yield from (Fact(name="Not stated", text=str(words)) for words in foreign.get("missing") or ())
    yield from (Fact(name="Contradiction", text=str(words)) for words in foreign.get("doubts") or ())


def _vector_row(column: Column, dimensions: Mapping[str, Any]) -> VectorRow:
    cells = {}
    for dimension in DIMENSIONS:
        result = dimensions.get(dimension)
        status: Status = "NOT_MEASURED" if result is None else result.status
        sentence = "nothing in the record answers this" if result is None else result.sentence
        cells[dimension] = Cell(status=status, word=STATUS_WORDS[status], sentence=sentence)
    return VectorRow(column=column, cells=cells)


def _gate_rows(gates: tuple[GateResult, ...], labels: Mapping[str, str]) -> tuple[GateRow, ...]:
    return tuple(
        replace(
            GateRow(**vars(gate), word=STATUS_WORDS[gate.status], label=labels.get(gate.configuration, place_of(gate.configuration))),
            sentence="; ".join(filter(None, (gate.sentence, gate.tested))),
        )
        for gate in gates
    )


def _recommendation_rows(picks: tuple[Recommendation, ...], labels: Mapping[str, str]) -> tuple[RecommendationRow, ...]:
    return tuple(
        RecommendationRow(**vars(pick), label="none" if pick.configuration is None else labels.get(pick.configuration, pick.configuration))
        for pick in picks
    )


def _layers(layers: Mapping[str, tuple[LayerResult, ...]], labels: Mapping[str, str]) -> tuple[LayerRow, ...]:
    return tuple(
        LayerRow(**vars(result), configuration=name, label=labels.get(name, name)) for name, results in layers.items() for result in results
    )


def _findings(findings: tuple[Finding, ...], labels: Mapping[str, str]) -> tuple[FindingRow, ...]:
    worst_first = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return tuple(
        FindingRow(**vars(finding), where=labels.get(finding.configuration or "", place_of(finding.configuration)))
        for finding in worst_first
    )


def requested(measured: RecordData, base: str) -> dict[str, str]:
    """The conditions without which no number of a launched workload may be quoted; `base`: label of the base configuration."""
    experiment, manifest = measured.experiment, measured.manifest
    launches, quality, prices = experiment.launches, experiment.quality, experiment.prices
    return {
        "Workload": " ".join((experiment.workload.script, *experiment.workload.arguments)),
        **({"Requested dimensions": f"{experiment.verdict.words} only"} if experiment.verdict.words else {}),
        "Configurations": ", ".join(str(level) for level in measured.levels) + " workers",
        "Scaling": f"{measured.mode}{' by the recorded work' if experiment.scaling.mode == 'auto' else ''}; relative to {base}",
        "Launches": f"{launch_words(measured)}, seed {launches.seed}{f'; each {ended}' if (ended := ended_words(measured)) else ''}",
        "Intervals": f"{percent(launches.confidence, 4)} confidence; the {measured.kind.unit} is the unit of analysis",
        "Quality": "not requested"
        if quality is None
        else (f"{quality.metric}, {quality.direction} is better; held if it loses less than {given(quality.margin)}"),
        "Gates": _gates(experiment),
        "Prices": "none given" if prices is None else (price_words(prices)),
        "Energy": experiment.energy.source,
        **({"Carbon": grid_words(measured)} if experiment.carbon is not None else {}),
        **({"Folder": "a fresh copy of the working folder for each launch"} if experiment.workload.fresh_folder else {}),
        "Faults": "; ".join(_fault(fault, measured) for fault in experiment.faults) or "none",
        "Record": f"{manifest.get('id', 'unnamed')}, {measured.state}, {measured.seal_words}",
        "Made": f"{manifest.get('created_utc', 'unknown time')} by assay {manifest.get('assay_version', '?')}",
    }


def _gates(experiment: Experiment) -> str:
    gates = experiment.gates
    limits = (
        ("efficiency ≥ ", gates.efficiency, ""),
        ("wall time ≤ ", gates.deadline_s, " s"),
        ("cost of a run ≤ $", gates.budget_usd, ""),
        ("admissible at ", gates.required_workers, " workers"),
    )
    return ", ".join(f"{text}{given(value)}{unit}" for text, value, unit in limits if value is not None) or "none"


def _fault(fault: Any, measured: RecordData) -> str:
    """The fault, its rank and its time."""
    levels = ", ".join(str(level) for level in fault.levels) or str(max(measured.levels))
    sent = {"kill": f" (SIG{fault.signal})", "slow": f" (to {percent(fault.share)} of a processor)"}.get(fault.kind, "")
    if fault.kind == "throttle":
        sent = f" ({fault.interface}, to {given(fault.rate_mbit)} Mbit/s)"
    where = f"{levels} workers" if fault.rank is None else f"rank {fault.rank} of {levels} workers"
    when = f"within {count(fault.within_steps, 'steps')} of a checkpoint"
    if fault.during:
        when = f"while a {fault.during} is being saved"
    elif fault.at_step is not None:
        when = f"after step {fault.at_step}" if fault.at_step else "before the first step"
    lasting = f", for {given(fault.for_s)} s" if fault.kind != "kill" else ""
    again = f", {fault.times} times" if fault.times > 1 else ""
    return f"{fault.kind}{sent} at {where}, {when}{lasting}{again}"


def launch_rows(measured: RecordData, labels: Mapping[str, str]) -> tuple[LaunchRow, ...]:
    """Every launch in start order; `labels`: configuration key -> label."""
    steps = measured.global_steps.group_by("launch").agg(pl.len().alias("steps"), pl.col("step_s").median().alias("step_s"))
    steady = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("steady_s"))
    joined = measured.table("launches").join(steps, on="launch", how="left").join(steady, on="launch", how="left").sort("launch")
    disturbed = disturbances(measured)
    return tuple(_launch_row(row, measured, labels, disturbed.get(row["launch"], {})) for row in joined.iter_rows(named=True))


def _launch_row(row: Mapping[str, Any], measured: RecordData, labels: Mapping[str, str], disturbed: Mapping[str, str]) -> LaunchRow:
    wall_s = (row["end_ns"] - row["begin_ns"]) / NS_PER_S
    step_s = row["steady_s"] if row["steady_s"] is not None else row["step_s"]
    state = measured.steady.get(row["launch"]) if row["steps"] else None
    return LaunchRow(
        number=row["launch"],
        **{name: row[name] for name in AS_RECORDED},
        label=labels.get(row["configuration"], row["configuration"]),
        wall_s=wall_s,
        wall=reading(wall_s, "s"),
        steps=row["steps"] or 0,
        step_s=step_s,
        step=reading(step_s, "s"),
        warmup=state.warmup if state else None,
        shape=state.kind if state else "",
        disturbed=disturbed,
    )


def environment_groups(recorded: object) -> tuple[EnvironmentGroup, ...]:
    """Both snapshots flattened to dotted keys, grouped by their first part.

    A fact of one snapshot alone counts as changed, unless its whole group was read only once.
    """
    snapshots = recorded if isinstance(recorded, Mapping) else {}
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
        for key, item in value.items():
            yield from _flat(item, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            yield from _flat(item, f"{prefix}.{index}")
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


def metric_rows(judgement: Judgement, work: str) -> tuple[MetricRow, ...]:
    """Every metric that was judged: by dimension, the primary ones first, then by rank."""
    dimensions = {dimension: index for index, dimension in enumerate(DIMENSIONS)}

    def order(metric: Metric) -> tuple[int, bool, int, str]:
        return dimensions.get(metric.dimension, len(dimensions)), not metric.primary, metric.rank, metric.name

    shown = sorted((judgement.metrics[name] for name in judgement.results), key=order)
    return tuple(metric_row(metric, partial(judgement.results.__getitem__, metric.name), work) for metric in shown)


def metric_row(metric: Metric, values: Callable[[], Mapping[str, Value]], work: str) -> MetricRow:
    """The row of a metric; `work` names an item of work."""
    return MetricRow(
        name=metric.name,
        title=metric.title,
        dimension=metric.dimension,
        unit=metric.unit,
        better=metric.better,
        formula=metric.formula,
        primary=metric.primary,
        values=values,
        work=work,
        tool=metric.tool,
        shown=metric.shown,
        band=metric.band,
    )


def overhead(metrics: tuple[MetricRow, ...], labels: Mapping[str, str]) -> tuple[tuple[str, Shown], ...]:
    """The instrument's own cost by configuration label, or why it is unknown."""
    row = next((row for row in metrics if row.name == INSTRUMENT_OVERHEAD.name), None)
    if row is None or not row.cells:
        missing = Absent(reason="not_measured", detail="the record does not hold the instrument's own cost")
        return ((WHOLE, show(missing)),)
    return tuple((labels.get(key, place_of(key)), shown) for key, shown in row.cells.items())
