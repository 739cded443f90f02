"""What does the view of an evaluation show in addition to that of every record?"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.reports.rows.types import Column
from fireassay.reports.view import KindView


def _columns(measured: RecordData) -> tuple[Column, ...]:
    """A configuration is called by the name of its answers."""
    return tuple(
        Column(key=configuration.name, label=configuration.target or configuration.name, workers=configuration.workers)
        for configuration in measured.varied
    )


VIEW = KindView(columns=_columns)
