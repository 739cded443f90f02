"""Which share of the prompt tokens came from the engine's cache?

cached_share = cached prompt tokens / prompt tokens, by the server's usage, over the answered requests of the measured
window that tell both. High where prompts share beginnings, or where the same text was sent before: latencies are then those
of a warm cache. It cannot tell a server that caches in silence.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import counted
from assay.metrics.rates import quotients, tally
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    told = counted(measured).filter(pl.col("ok") & pl.col("tokens_cached").is_not_null() & pl.col("tokens_in").is_not_null())
    return quotients(
        measured,
        tally(told, pl.col("tokens_cached"), pl.col("tokens_in")),
        unit=FRACTION,
        name="cached_share",
        aggregate="cached prompt tokens / prompt tokens",
        missing="the server does not tell which prompt tokens came from its cache",
    )


METRIC = Metric(
    name="cached_share",
    title="Prompt tokens from the cache",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="cached prompt tokens / prompt tokens",
    compute=compute,
    about=("serving",),
)
