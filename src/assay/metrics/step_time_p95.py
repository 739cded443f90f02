"""How long does a step take at most, one step in twenty aside?

step_time_p95 = 0.95-quantile of step_time over the pooled steady steps of all timed launches; the interval comes from the
spread between launches of the share of steps above it (cluster-Woodruff, methodology 9.2).  Absent, with the number of
launches or steps that would do, where fewer than 10 independent steps lie beyond it.  A launch with more steps weighs more.
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
    return step_time_percentile(measured, 0.95, "step_time_p95")


METRIC = Metric(
    name="step_time_p95",
    title="Step time, p95",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.95-quantile of step_time over the pooled steady steps",
    compute=compute,
)
