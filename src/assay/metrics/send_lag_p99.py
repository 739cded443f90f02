"""How late was the client, one request in a hundred aside?

send_lag_p99 = 0.99-quantile of sent - scheduled, less the set-up of a new connection, over all requests that were due in
the measured window and were sent, whatever became of them.  It is reported next to every latency, because those start when
a request was due; the audit send_lag invalidates a record in which it is too large. Requests that were never sent have no
lag: the ledger counts them.
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
        measured, "lag_s", 0.99, "send_lag_p99", "no request of the measured window was sent", pl.col("sent_ns").is_not_null()
    )


METRIC = Metric(
    name="send_lag_p99",
    title="Send lag, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of sent - scheduled - connection set-up",
    compute=compute,
    about=("serving",),
)
