"""Which share of the communication does computing hide?

overlap = 1 - exposed / total of each launch, both by the way by which `comm_exposed` is told; not below 0.  Source: METRICS.md; HTA's ratio
is the same |M and C| / |M|.  It cannot tell how long either is: a step that hides all of much waits no less than one that has little.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import ratios
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """1 - exposed / total per launch, then over launches."""
    return ratios(
        measured,
        (1.0 - pl.col("exposed_s") / pl.col("total_s")).clip(0.0, 1.0),
        "overlap",
        "1 - exposed / total communication of its median steps, not below 0",
        "its steps communicate nothing, of which nothing is hidden",
    )


METRIC = Metric(
    name="overlap",
    title="Hidden communication",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="1 - comm_exposed / comm_total",
    compute=compute,
    about=("training",),
)
