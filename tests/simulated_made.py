"""Records of simulated clusters, for tests of everything that reads them: made by the runner, without a disk between.

record(levels=(1, 2, 4), serial=0.05)      a Measured; the same one for the same words
"""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa

from fireassay.frames.record_data import RecordData
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.tables import TABLES
from fireassay.runners.simulated import SCRIPT, Cluster, arguments, batches, cluster_of, row_of, rows_of
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches, Scaling
from fireassay.spec.plan import plan
from fireassay.spec.sections.workload import Measure, Noise, Workload
from tests.builders import frame

LEVELS = (1, 2, 4, 8, 16)
TRUTH: dict[str, Any] = {
    "step_s": 1.0,
    "serial": 0.05,
    "alpha_s": 2e-5,
    "beta_s": 8e-10,
    "gradient": 1e8,
    "buckets": 4,
    "jitter": 0.02,
    "noise": 0.005,
}


def cluster(**other: Any) -> Cluster:
    """The cluster of these tests, with whatever is different."""
    return Cluster(**{**TRUTH, **other})


def experiment(
    *, levels: tuple[int, ...] = LEVELS, launches: int = 4, steps: int = 10, weak: bool = False, sweep: bool = True, **other: Any
) -> Experiment:
    """An experiment that simulates it."""
    return Experiment(
        name="simulated",
        workload=Workload(runner="simulated", script=SCRIPT, arguments=arguments(cluster(weak=weak, **other), steps), attach=False),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=launches, seed=3),
        noise=Noise(sentinel_s=0.0),
        gates=Gates(efficiency=None),
        scaling=Scaling(mode="weak" if weak else "strong"),
        measure=Measure(communication=sweep),
    )


@cache
def record(**words: Any) -> RecordData:
    """What the runner makes of it, without a disk between."""
    asked = experiment(**words)
    made, steps = cluster_of(asked)
    parts: dict[str, list[pa.RecordBatch]] = {name: [] for name in TABLES}
    launches, begin = [], 0
    for number, planned in enumerate(plan(asked)):
        own, end = rows_of(made, steps, planned, number, begin)
        for table, columns in own:
            parts[table] += batches(table, columns)
        launches.append(tuple(row_of(planned, number, begin, end).values()))
        begin = end + 1_000_000_000
    tables = {name: pl.DataFrame(pl.from_arrow(pa.Table.from_batches(several, arrow_schema(name)))) for name, several in parts.items()}
    tables["launches"] = frame("launches", launches)
    manifest = {"environment": {"before": {}, "after": {}}, "reason": "", "simulated": {}}
    return RecordData(experiment=asked, manifest=manifest, state="complete", sealed=True, tables=tables)
