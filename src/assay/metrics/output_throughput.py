"""How many output tokens come per second?

output_throughput = tokens whose time lies in the measured window / its length (METRICS.md, "Serving"): the tokens of every
answered request that arrived then, whenever it was due; the window excludes ramp and drain.  A token's time is its chunk's;
where a chunk holds several, see `assay.frames.serving.requests`.  Tokens by the server's usage, else by the tokenizer. It cannot
tell useful tokens from others: see goodput.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.format import count
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.gaps import spread
from assay.metrics.latencies import timed
from assay.metrics.rates import all_of, per_second, windows
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Tokens over the window's length, per configuration."""
    answered = timed(measured).filter("ok")
    if answered.height and not (answered["tokens"].fill_null(0) > 0).any() and not (answered["text_chunks"] > 0).any():
        return all_of(measured, NO_TOKENS)
    known = windows(measured).filter(pl.col("tokens").is_not_null())
    own = measured.timed.join(known, on=["launch", "configuration", "block"], how="inner")
    found = per_second(
        measured,
        own.select("launch", pl.col("tokens").alias("above")),
        unit=PER_SECOND,
        name="output_throughput",
        aggregate=f"output tokens in the window ({spread(int(own['evenly'].sum()))})",
        missing="",
    )
    return {name: _uncounted(measured, name) or value for name, value in found.items()}


def _uncounted(measured: Measured, configuration: str) -> Absent | None:
    """Why the tokens of a configuration are not known; None where they are."""
    own = windows(measured).filter(pl.col("configuration") == configuration)
    unknown = int(own["unknown"].sum())
    if not unknown:
        return None
    return Absent(
        reason="not_measured",
        detail=f"nobody says how many tokens {count(unknown, 'answers')} had: the server sent no usage; name the model's "
        "tokenizer (serving.tokenizer)",
    )


NO_TOKENS = Absent(reason="not_applicable", detail="the answers hold no tokens: embeddings and scores have none")


METRIC = Metric(
    name="output_throughput",
    title="Output tokens per second",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="tokens whose time lies in the window / window",
    compute=compute,
    about=("serving",),
    primary=True,
)
