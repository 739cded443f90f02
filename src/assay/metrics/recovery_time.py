"""How long after a fault is the progress of before regained?

recovery_time = fault until the lost progress is regained, per fault launch; see `assay.frames.training.recovery` for the timeline.
One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.recovery import duration_metric
from assay.metrics.base import Metric, Results
from assay.units import SECONDS

HOW = "fault until the lost progress is regained"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    return duration_metric(measured, "recovery_time", lambda r: r.fault_ns, lambda r: r.regained_ns, HOW)


METRIC = Metric(
    name="recovery_time",
    title="Recovery time",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
    primary=True,
)
