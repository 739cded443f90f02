"""How long does a user wait for the first text that is not reasoning, as a rule?

ttft_visible_p50 = 0.5-quantile of first chunk with content or a tool call - start, over the answered requests that were
due in the measured window, pooled over launches.  Of a model that does not reason it equals ttft_p50. An answer that held
nothing but reasoning has none, so that it cannot tell how many never said anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import NOT_STREAMED, percentile
from assay.metrics.rates import all_of, streamed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    return percentile(measured, "ttft_visible_s", 0.5, "ttft_visible_p50", "no answer brought any text that is not reasoning")


METRIC = Metric(
    name="ttft_visible_p50",
    title="Time to first visible token, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of first text that is not reasoning - start",
    compute=compute,
    about=("serving",),
)
