"""How full was the engine's KV cache, by its own count?

server_kv_cache = mean over the readings inside of the measured window of kv_cache_used, as scraped from the engine's
Prometheus page (serving.targets[].metrics), of each replica, then over replicas; then over launches.  Near 1 the engine
preempts or queues requests. It cannot tell what happened between two readings.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.server_state import mean_reading
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean reading per configuration."""
    return mean_reading(measured, "kv_cache_used", unit=FRACTION, name="server_kv_cache", together="mean")


METRIC = Metric(
    name="server_kv_cache",
    title="Use of the KV cache",
    unit=FRACTION,
    kind="level",
    better="neither",
    dimension="performance",
    formula="mean reading of kv_cache_used in the window",
    compute=compute,
    about=("serving",),
)
