"""How long do restarted workers take until they train again?

time_to_reload = last worker's start until the first step, checkpoint load included, per fault launch; see
`assay.frames.training.recovery` for the timeline. One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.recovery import duration_metric
from assay.metrics.base import Metric, Results
from assay.units import SECONDS

HOW = "last worker's start until the first step, checkpoint load included"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    return duration_metric(measured, "time_to_reload", lambda r: r.restarted_ns, lambda r: r.resumed_ns, HOW)


METRIC = Metric(
    name="time_to_reload",
    title="Time to reload",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
)
