"""How long does the engine take to notice a dead worker?

time_to_detect = fault until the engine stops the first surviving peer, per fault launch; see `assay.frames.training.recovery` for the
timeline. One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.recovery import duration_metric
from assay.metrics.base import Metric, Results
from assay.units import SECONDS

HOW = "fault until the engine stops the first surviving peer"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    return duration_metric(measured, "time_to_detect", lambda r: r.fault_ns, lambda r: r.detected_ns, HOW, needs_peer=True)


METRIC = Metric(
    name="time_to_detect",
    title="Time to detect",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
)
