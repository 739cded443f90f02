"""How long do a step's collectives take when nothing else runs?

comm_alone = from the first request to the last end of a step's collectives, all asked for at once after a barrier, while no rank
computes; mean
over ranks, median over the replays of a launch that calibrates communication (`workload.calibrate_communication`), which is never timed.
Interval: Student t on the launch values.  Source: house research 2.2 and 5.4; `assay.instruments.hooks.communication_differencing` makes
the replays.
It cannot tell what the same calls take beside computing (`comm_contention`) or what of it a step waits for (`comm_exposed`); waiting for
slower ranks, barriers, and the time between one call's end and the next one's request are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import calibrated
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The median replay per launch, then over launches."""
    return calibrated(
        measured,
        pl.col("alone_s"),
        "comm_alone|by:replay",
        "median over replays of the mean over ranks of the time that a step's collectives take with nothing else running",
        of=("alone_s",),
    )


METRIC = Metric(
    name="comm_alone",
    title="Communication alone",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over replays of the time of a step's collectives with nothing else running",
    compute=compute,
    about=("training",),
)
