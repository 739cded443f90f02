"""How long does it take to turn a prompt into tokens, as a rule?

tokenize_time_p50 = 0.5-quantile of the time from the prompt's text, chat template included, to its tokens, over the answered requests
of the measured window.  It is inside of ttft and e2e.  Only where the model runs in this process; a server does not tell it.
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
    return middle(measured, "tokenize_s", "tokenize_time_p50")


METRIC = Metric(
    name="tokenize_time_p50",
    title="Tokenising the prompt, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of the time to turn a prompt into tokens",
    compute=compute,
    about=("serving",),
)
