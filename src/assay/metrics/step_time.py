"""How long does a training step take?

step_time = end - begin - checkpoint of the slowest rank, per step; a launch's value is the median over its steps
after warm-up.  Source: METRICS.md, "Time inside a training step".  It cannot tell how the step divides into
communication and computation when they overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.base import Metric, Results
from assay.metrics.estimate import Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import from_frame
from assay.units import SECONDS

MARK_STEPS = (
    "the script did not mark its steps, and no optimizer of torch's was seen to step in the process that was started; "
    "iterate over probe.steps(loader) to have them"
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median step time per launch, then over launches."""
    per_launch = measured.steady_steps.group_by("launch").agg(
        pl.col("step_s").median().alias("value"), pl.len().alias("steps")
    )
    return from_frame(
        measured, per_launch, unit=SECONDS, name="step_time", missing=MARK_STEPS, trials="steps",
        aggregate="median over steady steps of the slowest rank's time",
    )  # fmt: skip


METRIC = Metric(
    name="step_time", title="Step time", unit=SECONDS, kind="cost", better="lower", dimension="performance",
    formula="median over steps of max over ranks (end - begin - checkpoint)", compute=compute, primary=True,
)  # fmt: skip
