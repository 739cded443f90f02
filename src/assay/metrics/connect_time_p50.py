"""How long does setting up a connection take, as a rule?

connect_time_p50 = 0.5-quantile of the time until a new connection stood, TLS included, over the requests of the measured
window that needed a new one.  It is inside of ttft and e2e, because a user waits for it, and shown apart, because it is the
network's. Requests on a connection that was kept alive have none.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import percentile
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return percentile(
        measured,
        "connect_s",
        0.5,
        "connect_time_p50",
        "every request of the measured window used a connection that was kept alive",
        pl.col("connect_s").is_not_null(),
    )


METRIC = Metric(
    name="connect_time_p50",
    title="Connection set-up, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of the set-up of new connections",
    compute=compute,
    about=("serving",),
)
