"""How many requests waited inside of the engine, by its own count?

server_waiting = mean over the readings inside of the measured window of requests_waiting, as scraped from the engine's
Prometheus page (serving.targets[].metrics), summed over replicas; then over launches.  A queue that grows during the window
means that the load is above what the engine can carry. It cannot tell what happened between two readings.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.server_state import mean_reading
from assay.units import REQUESTS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean reading per configuration."""
    return mean_reading(measured, "requests_waiting", unit=REQUESTS, name="server_waiting", together="sum")


METRIC = Metric(
    name="server_waiting",
    title="Requests in the engine's queue",
    unit=REQUESTS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="mean reading of requests_waiting in the window",
    compute=compute,
    about=("serving",),
)
