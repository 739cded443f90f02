"""How long are the prompts?

tokens_in_mean = prompt tokens / answered requests of the measured window, by the server's usage (chat template included),
else by the tokenizer.  Shared beginnings count in full: cached_share tells what was not computed again.
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
    rows = counted(measured).filter(pl.col("ok") & pl.col("tokens_in").is_not_null())
    return quotients(
        measured,
        tally(rows, pl.col("tokens_in")),
        unit=TOKENS,
        name="tokens_in_mean",
        aggregate="prompt tokens / answers",
        missing="nobody says how many tokens they had: the server sends no usage; name the model's tokenizer (serving.tokenizer)",
        trials="below",
    )


METRIC = Metric(
    name="tokens_in_mean",
    title="Prompt tokens per request",
    unit=TOKENS,
    kind="rate",
    better="neither",
    dimension="performance",
    formula="prompt tokens / answers",
    compute=compute,
    about=("serving",),
)
