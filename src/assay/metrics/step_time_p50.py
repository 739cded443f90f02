"""In half of the steps, how long does a step take at most?

step_time_p50 = 0.50-quantile of step_time over the pooled steady steps of all timed launches; the interval comes from the
spread between launches of the share of steps above it (cluster-Woodruff, methodology 9.2).  Absent, with the number of
launches or steps that would do, where fewer than 10 independent steps lie beyond it.
Unlike step_time, a mean over launches of their medians, it is the median of the pooled steps, and its interval assumes no shape.
It cannot tell what the slow steps waited for, nor what no launch has met.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.step_time import step_time_percentile
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return step_time_percentile(measured, 0.50, "step_time_p50")


METRIC = Metric(
    name="step_time_p50",
    title="Step time, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.50-quantile of step_time over the pooled steady steps",
    compute=compute,
)
