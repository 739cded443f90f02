"""How much of the communication does computing hide, in seconds?

comm_hidden = max(0, alone - exposed) of each launch that calibrates communication: `alone` by its own replays (`comm_alone`), `exposed`
by its own
steps with and without synchronising (`comm_exposed`, way unsynchronised); never across launches or by another way, and absent where a
launch has not both (FSDP; a machine too busy).  Interval: Student t on the launch values.  Source: house research 2.2 and 5.4.
It cannot tell what is hidden where contention or waiting for slower ranks adds as much as is hidden: both lengthen `exposed` alone, so
that it is a lower bound; but what a script sends by itself, in both kinds of steps, is in `alone` only and counts as hidden.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.step_communication import METHODS
from assay.metrics.base import Metric, Results
from assay.metrics.communication import calibrated
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Alone less exposed per launch, not below 0, then over launches."""
    return calibrated(
        measured,
        pl.col("alone_s") - pl.col("exposed_s"),
        "comm_hidden|by:unsynchronised",
        f"time of its collectives alone less exposed communication by {METHODS['unsynchronised']}, of the same launch, not below 0",
        of=("alone_s", "exposed_s"),
    )


METRIC = Metric(
    name="comm_hidden",
    title="Hidden communication time",
    unit=SECONDS,
    kind="cost",
    better="neither",
    dimension="performance",
    formula="max(0, comm_alone - comm_exposed) of the same launch, by unsynchronised steps",
    compute=compute,
    about=("training",),
)
