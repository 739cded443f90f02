"""How long does a user wait for the whole answer, one request in a hundred aside?

e2e_p99 = 0.99-quantile of last token - start, over the answered requests that were due in the measured window, pooled
over launches (`assay.metrics.latencies`); Absent where they are too few. The clock starts when the request was due, in a closed loop sent
(METRICS.md, "Serving"); an answer without tokens (an embedding) ends when it is whole. It depends on how long the answers
are: compare it between equal lengths only.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import percentile
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return percentile(measured, "e2e_s", 0.99, "e2e_p99", "no request of the measured window was answered")


METRIC = Metric(
    name="e2e_p99",
    title="End-to-end latency, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of last token - start",
    compute=compute,
    about=("serving",),
    primary=True,
)
