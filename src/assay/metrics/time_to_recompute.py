"""How long does it take to do the lost steps again?

time_to_recompute = first step after the restart until the lost progress is regained, per fault launch; see
`assay.frames.training.recovery` for the timeline. One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.recovery import duration_metric
from assay.metrics.base import Metric, Results
from assay.units import SECONDS

HOW = "first step after the restart until the lost progress is regained"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    return duration_metric(measured, "time_to_recompute", lambda r: r.resumed_ns, lambda r: r.regained_ns, HOW)


METRIC = Metric(
    name="time_to_recompute",
    title="Time to recompute",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
)
