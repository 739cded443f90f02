"""Records of `assay watch`, of samples that are known beforehand."""

from __future__ import annotations

from pathlib import Path

from fireassay.api.jobs.watching import _document
from fireassay.clock import FakeClock
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.observed.watched import WatchedRecord
from fireassay.instruments.watching.diagnosis import diagnose
from fireassay.instruments.watching.progress import Progress
from fireassay.record.reader import open_record
from tests.instruments.watching.test_diagnosis import LINEAR, look, readings, samples, waits


def watched(folder: Path, running: float = 0.95, *, seconds: int = 60, killed: bool = False) -> Path:
    """A job of two ranks, of which rank 1 computes for this share of the time, as rank 0 would if both were equal."""
    busy = [look(1, second, LINEAR, active=True) for second in range(0, seconds, 2)]
    times = [readings(0, 0.1 if running > 0.5 else running, seconds=seconds), readings(1, running, seconds=seconds)]
    seen = samples(times, [*waits(0, seconds // 2), *(busy if running > 0.5 else waits(1, seconds // 2))])
    document = _document("process 7", seen, diagnose(seen), Progress(steps=None), Progress(steps=None))
    record = WatchedRecord(folder, FakeClock())
    if not killed:
        return record.finish(document, seen)
    record.note(document, seen)
    return next(path for path in folder.iterdir() if path.name.startswith("watch-process-7"))


def observed(folder: Path, running: float = 0.95, *, seconds: int = 60) -> RecordData:
    return from_record(open_record(watched(folder, running, seconds=seconds)))
