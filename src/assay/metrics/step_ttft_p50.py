"""How long does a later step of a conversation or of a tool session wait for its first token, as a rule?

step_ttft_p50 = 0.5-quantile of first chunk with text - start over the requests of the measured window with a turn above
0: what comes after a user's pause, a tool or a retrieval.  The pause itself is before the request was due and not in it.
Where the engine caches prefixes it is shorter than ttft_p50, else longer, for the context has grown.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

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
    return percentile(
        measured,
        "ttft_s",
        0.5,
        "step_ttft_p50",
        "no request of the measured window follows another in its conversation; give serving.prompts.turns or tool_steps",
        pl.col("ok") & (pl.col("turn") > 0),
    )


METRIC = Metric(
    name="step_ttft_p50",
    title="Time to first token of later steps, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of first chunk with text - start, turns above 0",
    compute=compute,
    about=("serving",),
)
