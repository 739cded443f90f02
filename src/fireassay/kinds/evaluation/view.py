"""What does the view of an evaluation show in addition to that of every record?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fireassay.estimates.estimate import Estimate
from fireassay.frames.evaluation.item_scores import requested
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.origin import facts
from fireassay.kinds.evaluation.rows import rows
from fireassay.reports.rows.types import Column, View
from fireassay.reports.view import KindView
from fireassay.verdict.judge import Judgement


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


VIEW = KindView(columns=_columns, fields=_fields)
