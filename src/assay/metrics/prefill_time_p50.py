"""How long does the first pass over a prompt take, as a rule?

prefill_time_p50 = 0.5-quantile of the time from the end of tokenising until the first token of the answer is known, over the answered
requests of the measured window.  It is inside of ttft and e2e.  Only where the model runs in this process; a server does not tell it.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.inside import middle
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return middle(measured, "prefill_s", "prefill_time_p50")


METRIC = Metric(
    name="prefill_time_p50",
    title="Prefill, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of the time from the prompt's tokens to the first token of the answer",
    compute=compute,
    about=("serving",),
)
