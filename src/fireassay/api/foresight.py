"""How long will an experiment take, and which differences can it show?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fireassay.clock import SystemClock
from fireassay.errors import RecordError
from fireassay.frames.record_data import RecordData, from_record
from fireassay.metrics.results import LazyResults
from fireassay.record import machine_fitness
from fireassay.record.lookup import record_folders
from fireassay.record.reader import judged_from, open_record
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import expected_seconds
from fireassay.units import NS_PER_S
from fireassay.verdict.power import Expectation, foresee


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What an experiment will take and can show."""

    seconds: float | None  # None: no complete record ran this workload at all these levels
    differences: Sequence[Expectation]


def foreseen(experiment: Experiment, root: Path, detect: float | None = None) -> Foreseen:
    """The time and the detectable differences of an experiment, by the newest record of the same workload and the last `assay doctor`.

    Args:
        detect: also the number of launches that show a change of this size.
    """
    earlier = earlier_record(experiment, root)
    results = None if earlier is None else LazyResults(earlier)
    floor = machine_fitness.carried(SystemClock().utc()).get("noise_floor")  # between interleaved launches
    noise_floor = float(floor) if isinstance(floor, int | float) else None
    differences = foresee(experiment, earlier, results, noise_floor, detect)
    return Foreseen(seconds=None if earlier is None else _expected_seconds(experiment, earlier), differences=differences)


def earlier_record(experiment: Experiment, root: Path) -> RecordData | None:
    """The newest complete record that ran the same workload."""
    for path in sorted(record_folders(root), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            record = open_record(path)
            if record.state == "complete" and _same_work(record.experiment, experiment):
                with judged_from(path):
                    return from_record(record)
        except RecordError:
            continue
    return None


def _same_work(earlier: Experiment, experiment: Experiment) -> bool:
    """The same program; for serving, the same traffic on the same engines, whatever the loads and objectives."""
    free = {"concurrency", "rate", "search", "objectives", "client"}
    serving, earlier_serving = (
        None if candidate.serving is None else candidate.serving.model_dump(exclude=free) for candidate in (experiment, earlier)
    )
    return earlier.workload == experiment.workload and serving == earlier_serving


def _expected_seconds(experiment: Experiment, earlier: RecordData) -> float | None:
    """From the median seconds of a launch by configuration."""
    seconds = (pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S
    ended = earlier.table("launches").filter(pl.col("status") == "ok")
    return expected_seconds(experiment, dict(ended.group_by("configuration").agg(seconds.median()).iter_rows()))
