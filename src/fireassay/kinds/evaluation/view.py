"""What does the view of an evaluation show in addition to that of every record?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import identity, requested, tasks
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.origin import facts
from fireassay.kinds.evaluation.rows import rows
from fireassay.reports.build_view import KindView
from fireassay.reports.build_view import requested as requested_conditions
from fireassay.reports.view import Column, View
from fireassay.verdict.judge import Judgement

MOST_TASKS: Final = 3  # whose conditions are told; more are counted
DIGEST: Final = 12  # digits of a digest that identifies items


def _columns(measured: RecordData) -> tuple[Column, ...]:
    """A configuration is called by the name of its answers."""
    return tuple(
        Column(key=configuration.name, label=configuration.target or configuration.name, workers=configuration.workers)
        for configuration in measured.varied
    )


def _fields(view: View, measured: RecordData, _: Judgement) -> Mapping[str, Any]:
    """Of the load's own numbers, those are shown first that were measured: nobody asked for an objective, a fault or a price.

    Scores come first, the deciding one before the others.
    """
    scores = requested(measured)
    kept = tuple(
        replace(row, primary=row.primary and (row.name in scores or any(isinstance(cell.value, Estimate) for cell in row.cells.values())))
        for row in sorted(view.metrics, key=lambda row: scores.index(row.name) if row.name in scores else len(scores))
    )
    labels = {column.key: column.label for column in view.columns}
    foreign = (*view.foreign, *facts(measured)) if measured.foreign is not None else ()
    return {"metrics": kept, "evaluation": rows(measured, labels), "foreign": foreign}


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    """What was asked and how it was scored, instead of a script."""
    told = [f"{name}: {_task(facts)}" for name, facts in identity(measured).items()]
    left = f"; {count(len(told) - MOST_TASKS, 'more tasks')}" if len(told) > MOST_TASKS else ""
    asked = f"{'; '.join(told[:MOST_TASKS])}{left}" or ", ".join(tasks(measured))
    return {**requested_conditions(measured, base), "Workload": asked}


def _task(facts: Mapping[str, Any]) -> str:
    """ "200 items, d27ef1ed91b1; extract:whole@2; metric:acc|norm:none"."""
    items, _, digest = str(facts.get("items") or "").partition(", ")
    metrics = facts.get("metrics")
    signatures = metrics.values() if isinstance(metrics, Mapping) else ()
    named = (f"{items}, {digest[:DIGEST]}".strip(", "), facts.get("method"), facts.get("extractor"), *signatures)
    return ", ".join(str(part) for part in named if part)


VIEW = KindView(columns=_columns, conditions=_conditions, fields=_fields)
