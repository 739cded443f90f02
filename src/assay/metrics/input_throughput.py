"""How many prompt tokens are taken in per second?

input_throughput = prompt tokens of the answered requests whose first token (without one: end) lies in the measured window /
its length. Tokens by the server's usage, else by the tokenizer, with what came from a cache: cached_share tells how much
that was.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import timed
from assay.metrics.rates import per_second, within
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Amount over the window's length, per configuration."""
    read = pl.coalesce("first_token_ns", "done_ns")
    if (why := _unknown(measured)) is not None:
        return dict.fromkeys(measured.configurations, why)
    found = within(measured, read, pl.col("ok"), amount=pl.col("tokens_in"))
    return per_second(
        measured,
        found,
        unit=PER_SECOND,
        name="input_throughput",
        aggregate="prompt tokens read in the window",
        missing="no request was answered",
    )


def _unknown(measured: Measured) -> Absent | None:
    answered = timed(measured).filter("ok")
    if not answered["tokens_in"].null_count():
        return None
    return Absent(
        reason="not_measured",
        detail="nobody says how many tokens some prompts had: the server sent no usage; name the model's tokenizer (serving.tokenizer)",
    )


METRIC = Metric(
    name="input_throughput",
    title="Input tokens per second",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="prompt tokens whose answer began in the window / window",
    compute=compute,
    about=("serving",),
)
