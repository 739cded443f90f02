"""How long does the engine take to have all workers up again?

time_to_restart = detection until the last worker has started again, per fault launch; see `assay.frames.training.recovery` for the
timeline. One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.recovery import duration_metric, noticed_ns
from assay.metrics.base import Metric, Results
from assay.units import SECONDS

HOW = "detection until the last worker has started again"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    return duration_metric(measured, "time_to_restart", noticed_ns, lambda r: r.restarted_ns, HOW)


METRIC = Metric(
    name="time_to_restart",
    title="Time to restart",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
)
