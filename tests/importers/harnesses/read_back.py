"""Import a log of a harness and look at what the record holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fireassay.clock import FakeClock
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.harnesses.support.importing import Wanted, import_evaluations, recognised
from fireassay.record.reader import open_record

LOGS = Path(__file__).parent / "logs"

Scores = Mapping[tuple[str, str, int], Mapping[str, float]]  # (task, item, repetition) -> score -> value


def imported(folder: Path, *paths: Path, **wanted: Any) -> RecordData:
    """The record of these results, read back; the harness is recognised."""
    tool = recognised(paths)
    assert tool
    (made,) = import_evaluations(tool, paths, folder / "records", clock=FakeClock(), wanted=Wanted(**wanted))
    record = open_record(made.path)
    assert record.sealed
    assert record.state == "complete"
    return from_record(record)


def scores(measured: RecordData, launch: int = 0) -> Scores:
    """Every recorded score of a side."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in measured.table("scores").filter(launch=launch).iter_rows(named=True):
        found.setdefault((row["task"], row["item"], row["repetition"]), {})[row["metric"]] = row["score"]
    return found


def nothing_left(folder: Path) -> bool:
    """Whether no record was left behind."""
    return not (folder / "records").exists() or not any((folder / "records").iterdir())
