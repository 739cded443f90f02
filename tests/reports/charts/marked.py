"""The marks of a drawing, by their kind."""

from __future__ import annotations

from typing import TypeVar

from fireassay.reports.charts.chart import Drawing, Missing

Kind = TypeVar("Kind")


def marks(drawing: Drawing | Missing, kind: type[Kind], **wanted: object) -> list[Kind]:
    """All marks of a kind, in all panels, with these fields."""
    assert isinstance(drawing, Drawing)
    found = [mark for panel in drawing.panels for mark in panel.marks if isinstance(mark, kind)]
    return [mark for mark in found if all(getattr(mark, name) == value for name, value in wanted.items())]
