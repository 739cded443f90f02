"""What does a report show?  One frozen tree with all its text, from which every report is made.

Numbers become text in `fireassay.estimates.format` and nowhere else. Nothing is omitted silently: a dimension, metric or phase that was
not measured is in the tree with its reason. Pure: the same record always gives the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fireassay import catalog
from fireassay.estimates.format import count, percent
from fireassay.frames.ended_launches import ended_words
from fireassay.frames.record_data import RecordData
from fireassay.reports.rows import profile
from fireassay.reports.rows.conditions import requested
from fireassay.reports.rows.launches import launches
from fireassay.reports.rows.machine import environment
from fireassay.reports.rows.metrics import metrics as metric_rows
from fireassay.reports.rows.metrics import overhead
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
from fireassay.reports.words import DIMENSION_TITLES, SEVERITIES, STATUS_WORDS, WHOLE, place_of
from fireassay.verdict.artifact import artifact
from fireassay.verdict.hoefler_belli import checklist
from fireassay.verdict.imported import titled
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


def _columns(measured: RecordData) -> tuple[Column, ...]:
    return tuple(
        Column(key=configuration.name, label=measured.kind.label or count(configuration.workers, "workers"), workers=configuration.workers)
        for configuration in measured.varied
    )


@dataclass(frozen=True, kw_only=True)
class KindView:
    """The parts of a view that depend on the kind of record: `VIEW` in `fireassay.kinds.<kind>.view`, if defined."""

    columns: Callable[[RecordData], tuple[Column, ...]] = _columns
    conditions: Callable[[RecordData, str], Mapping[str, str]] = requested  # of a record and its base's label
    fields: Callable[[View, RecordData, Judgement], Mapping[str, Any]] = lambda *_: {}  # fields of the view to replace


@cache
def _kind_views() -> Mapping[str, KindView]:
    return catalog.parts("kinds", "view", "VIEW")


def build(measured: RecordData, judgement: Judgement) -> View:
    """The whole tree of a record and its judgement."""
    kind_view = _kind_views().get(measured.kind.name, KindView())
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
        wanted=experiment.verdict.wanted,
        unasked=experiment.unasked,
        recommendations=_recommendation_rows(verdict.recommendations, labels) if measured.kind.chooses else (),
        launches=launches(measured, labels),
        environment=environment(manifest.get("environment")),
        conditions=tuple(Fact(name=name, text=conditions[name]) for name in measured.kind.facts or conditions),
        overhead=overhead(metrics, labels),
        answers=lambda: checklist(measured, judgement),
        artifact=artifact(measured),
        measured=measured,
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
            launches_needed=gate.launches_needed,
            examples_needed=gate.examples_needed,
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
