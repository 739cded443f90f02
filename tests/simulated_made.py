"""Records of simulated clusters, for tests of everything that reads them: made by the runner, loaded, and gone from the disk.

record(levels=(1, 2, 4), serial=0.05)      a Measured; the same one for the same words
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from assay.metrics.measured import Measured, from_record
from assay.record.reader import open_record
from assay.runners.base import run
from assay.runners.cluster import Cluster
from assay.runners.simulated import SCRIPT, arguments
from assay.spec.experiment import Experiment, Factor, Gates, Launches, Noise, Scaling, Workload

LEVELS = (1, 2, 4, 8, 16)
TRUTH: dict[str, Any] = {
    "step_s": 1.0, "serial": 0.05, "alpha_s": 2e-5, "beta_s": 8e-10, "gradient": 1e8, "buckets": 4, "jitter": 0.02, "noise": 0.005,
}  # fmt: skip


def cluster(**other: Any) -> Cluster:
    """The cluster of these tests, with whatever is different."""
    return Cluster(**{**TRUTH, **other})


def experiment(
    *, levels: tuple[int, ...] = LEVELS, launches: int = 4, steps: int = 10, weak: bool = False, **other: Any
) -> Experiment:
    """An experiment that simulates it."""
    return Experiment(
        name="simulated", workload=Workload(runner="simulated", script=SCRIPT, arguments=arguments(cluster(weak=weak, **other), steps), attach=False),
        factor=Factor(levels=levels), launches=Launches(per_configuration=launches, seed=3), noise=Noise(sentinel_s=0.0),
        gates=Gates(efficiency=None), scaling=Scaling(mode="weak" if weak else "strong"),
    )  # fmt: skip


@cache
def record(**words: Any) -> Measured:
    """What the runner makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        return from_record(open_record(run(experiment(**words), root=Path(folder))))
