"""What does a report show?  One frozen tree with every text already written, from which all reports are made.

Numbers become text in `fireassay.estimates.format` and nowhere else.  Nothing is left out silently: a dimension, metric or phase that was
not measured is in the tree with its reason.  Pure: the same record gives the same tree, in ten years too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fireassay.estimates.format import count, percent
from fireassay.frames.ended_launches import ended_words
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.links.network_probe import network as network_of
from fireassay.frames.links.pairs import of_record as pairs_of
from fireassay.frames.record_data import RecordData
from fireassay.reports import load_words
from fireassay.reports.rows import imported, profile
from fireassay.reports.rows.conditions import conditions
from fireassay.reports.rows.launches import launches
from fireassay.reports.rows.machine import environment
from fireassay.reports.rows.metrics import lag, overhead, timing_facts, timing_metrics
from fireassay.reports.rows.metrics import metrics as metric_rows
from fireassay.reports.rows.types import (
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
from fireassay.reports.series import serving as serving_series
from fireassay.reports.series import training
from fireassay.reports.words import DIMENSION_TITLES, SEVERITIES, STATUS_WORDS, WHOLE, place_of
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving
from fireassay.verdict.artifact import artifact
from fireassay.verdict.hoefler_belli import checklist
from fireassay.verdict.types import DIMENSIONS, Finding, GateResult, LayerResult, Recommendation, Status

if TYPE_CHECKING:
    from fireassay.verdict.judge import Judgement

__all__ = [
    "DIMENSION_TITLES",
    "SEVERITIES",
    "STATUS_WORDS",
    "WHOLE",
    "Cell",
    "Column",
    "EnvironmentGroup",
    "EnvironmentRow",
    "Fact",
    "FindingRow",
    "GateRow",
    "LaunchRow",
    "LayerRow",
    "MetricRow",
    "RecommendationRow",
    "VectorRow",
    "View",
    "build",
]

QUALITY: Final = ("quality", "quality_difference")
OF_A_RUN: Final = ("wall_time", "cost", *QUALITY)  # of a job that ran to its end


def build(measured: RecordData, judgement: Judgement) -> View:
    """The whole tree of a record and its judgement."""
    columns = _columns(measured)
    labels = {column.key: column.label for column in columns}
    verdict, experiment, manifest = judgement.verdict, measured.experiment, measured.manifest
    served = serving_series.build(measured)
    metrics = timing_metrics(judgement) if measured.kind.times_calls else metric_rows(judgement, experiment.workload.work)
    if experiment.serving is not None and experiment.quality is None:  # of a load, quality is asked for or it is not
        metrics = tuple(replace(row, primary=row.primary and row.name not in QUALITY) for row in metrics)
    if ended_words(measured):
        metrics = tuple(replace(row, primary=row.primary and row.name not in OF_A_RUN) for row in metrics)
    wanted = experiment.verdict.wanted
    return View(
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
        word=STATUS_WORDS[verdict.status],
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
        wanted=wanted,
        recommendations=() if not measured.kind.chooses else _recommendation_rows(verdict.recommendations, labels),
        launches=launches(measured, labels, served),
        environment=environment(manifest.get("environment")),
        conditions=conditions(experiment, manifest, measured, labels[measured.base]),
        overhead=overhead(metrics, labels) if served is None else lag(metrics, labels),
        answers=lambda: checklist(measured, judgement),
        artifact=artifact(measured),
        series=training.build(measured, judgement.results),
        efficiency_gate=experiment.gates.efficiency,
        quality_metric=experiment.quality.metric if experiment.quality else None,
        quality_margin=experiment.quality.margin if experiment.quality else None,
        timing=timing_facts(measured, judgement) if measured.kind.times_calls else (),
        collectives=asked_cells(measured) if measured.kind.sweeps else (),
        pairs=pairs_of(measured) if measured.kind.sweeps else (),
        network=network_of(measured) if measured.kind.probes_hosts else None,
        profiles=profile.of_record(measured),
        foreign=tuple(Fact(name=name, text=words) for name, words in imported.facts(measured, judgement.results)),
        serving=served,
        load_word="" if experiment.serving is None else "concurrency" if experiment.serving.concurrency else "rate",
    )


def _columns(measured: RecordData) -> tuple[Column, ...]:
    if (serving := measured.experiment.serving) is not None:
        return tuple(_load_column(serving, configuration) for configuration in measured.varied)
    return tuple(
        Column(key=configuration.name, label=measured.kind.label or _workers(configuration.workers), workers=configuration.workers)
        for configuration in measured.varied
    )


def _load_column(serving: Serving, configuration: Configuration) -> Column:
    """A load is called "8 in flight" or "5 req/s", after its engine and scenario where there are several."""
    group, load = load_words.group_of(serving, configuration), load_words.load_of(serving, configuration)
    return Column(
        key=configuration.name,
        label=f"{group}, {load}" if group else load,
        workers=configuration.workers,
        engine=configuration.target,
        scenario=configuration.scenario,
        load=configuration.load,
        group=group,
        brief=load,
    )


def _workers(level: int) -> str:
    return count(level, "workers")


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
        GateRow(
            gate=gate.gate,
            configuration=gate.configuration,
            status=gate.status,
            word=STATUS_WORDS[gate.status],
            label=labels.get(gate.configuration, place_of(gate.configuration)),
            sentence=gate.sentence,
        )
        for gate in gates
    )


def _recommendation_rows(picks: tuple[Recommendation, ...], labels: Mapping[str, str]) -> tuple[RecommendationRow, ...]:
    return tuple(
        RecommendationRow(
            goal=pick.goal,
            configuration=pick.configuration,
            sentence=pick.sentence,
            label="none" if pick.configuration is None else labels.get(pick.configuration, pick.configuration),
        )
        for pick in picks
    )


def _layers(layers: Mapping[str, tuple[LayerResult, ...]], labels: Mapping[str, str]) -> tuple[LayerRow, ...]:
    return tuple(
        LayerRow(
            configuration=name,
            label=labels.get(name, name),
            layer=result.layer,
            title=result.title,
            state=result.state,
            sentence=result.sentence,
        )
        for name, results in layers.items()
        for result in results
    )


def _findings(findings: tuple[Finding, ...], labels: Mapping[str, str]) -> tuple[FindingRow, ...]:
    worst_first = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return tuple(
        FindingRow(
            rule=finding.rule,
            severity=finding.severity,
            evidence=finding.evidence,
            remedy=finding.remedy,
            configuration=finding.configuration,
            where=labels.get(finding.configuration or "", place_of(finding.configuration)),
        )
        for finding in worst_first
    )
