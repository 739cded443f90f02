"""How long are the answers?

tokens_out_mean = output tokens / answers, over the answered requests of the measured window, by the server's usage, else by
the tokenizer. Latencies and throughputs of answers of other lengths are not comparable; the audit output_lengths compares
it with what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import counted
from assay.metrics.rates import quotients, tally
from assay.units import TOKENS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean per configuration."""
    rows = counted(measured).filter(pl.col("ok") & pl.col("tokens").is_not_null())
    return quotients(
        measured,
        tally(rows, pl.col("tokens")),
        unit=TOKENS,
        name="tokens_out_mean",
        aggregate="output tokens / answers",
        missing="nobody says how many tokens they had: the server sends no usage; name the model's tokenizer (serving.tokenizer)",
        trials="below",
    )


METRIC = Metric(
    name="tokens_out_mean",
    title="Output tokens per answer",
    unit=TOKENS,
    kind="rate",
    better="neither",
    dimension="performance",
    formula="output tokens / answers",
    compute=compute,
    about=("serving",),
)
