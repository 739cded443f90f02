"""The marks of a chart, by their kind."""

from __future__ import annotations

from typing import TypeVar

from fireassay.reports.charts.model import Chart

Kind = TypeVar("Kind")


def marks(chart: Chart, kind: type[Kind], **wanted: object) -> list[Kind]:
    """All marks of a kind, in all panels, with these fields."""
    return [mark for mark in chart.marks(kind) if all(getattr(mark, name) == value for name, value in wanted.items())]
