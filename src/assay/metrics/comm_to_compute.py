"""How much is communicated for what is computed?

comm_to_compute = total communication / computing of each launch, computing being the step less its pauses, its wait for data and its
exposed communication (by unsynchronised steps: those steps; by kernels: the computing kernels).  Above 1 not all of it can be hidden.
Source: METRICS.md.  It cannot tell whether it is hidden: see `overlap`.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import ratios
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Total / computing per launch, then over launches."""
    return ratios(
        measured,
        pl.col("total_s") / pl.col("compute_s"),
        "comm_to_compute",
        "total communication / computing of its median steps",
        "its steps compute nothing",
        RATIO,
    )


METRIC = Metric(
    name="comm_to_compute",
    title="Communication to computing",
    unit=RATIO,
    kind="ratio",
    better="lower",
    dimension="performance",
    formula="comm_total / (step - data wait - comm_exposed)",
    compute=compute,
    about=("training",),
)
