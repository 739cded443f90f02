"""The record of what `several` left: one worker's launch beside the one of several."""

from __future__ import annotations

import json
from pathlib import Path

from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from tests.handmade import Handmade


def measured(folder: Path, name: str, workers: int) -> RecordData:
    """A launch of one worker and one of so many."""
    made = Handmade(levels=(1, workers), blocks=1)
    for level in (1, workers):
        number = made.launch(workers=level)
        for rank in range(level):
            rows = json.loads((folder / f"{Path(name).name}.{level}.{rank}").read_text())
            for table, row in rows:
                at = TABLES[table].column_names.index("launch")
                made.rows[table].append((*row[:at], number, *row[at + 1 :]))
    return made.measured()
