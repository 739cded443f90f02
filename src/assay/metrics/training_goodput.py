"""Which share of the paid rank-seconds trained the model?

training_goodput = productive rank-seconds / (workers x wall time) of the timed launches (METRICS.md).  Productive: the
steps that finally counted, less their wait for data, their exposed communication and whatever else `assay.frames.training.rank_time`
tells apart.  Cannot tell: exposed communication that no instrument saw; it counts as productive.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.rank_seconds import goodput
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Share per configuration."""
    return goodput(measured, "timed", "training_goodput")


METRIC = Metric(
    name="training_goodput",
    title="Training goodput",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="reliability",
    formula="productive rank-seconds / all rank-seconds of the timed launches",
    compute=compute,
)
