"""How many requests did the engine work on at a time, by its own count?

server_running = mean over the readings inside of the measured window of requests_running, as scraped from the engine's
Prometheus page (serving.targets[].metrics), summed over replicas; then over launches.  Beside in_flight_mean: the
difference waits in the network, the proxy or the client. It cannot tell what happened between two readings.
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
    return mean_reading(measured, "requests_running", unit=REQUESTS, name="server_running", together="sum")


METRIC = Metric(
    name="server_running",
    title="Requests in the engine's batch",
    unit=REQUESTS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="mean reading of requests_running in the window",
    compute=compute,
    about=("serving",),
)
