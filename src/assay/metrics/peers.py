"""What would other load generators have reported of the same requests?  Their definitions, one by one, from our log.

Read in their sources (research/serving.md section 2.1).  Every clock of theirs starts at sending, before a new connection
is set up, so that none sees a request that waited in the client; here that is sent - connection set-up.  Of an answer's
chunks:

    name             first token               TPOT                              ITL                          tokens n
    vllm             first chunk with choices, (last choices - first) / (n - 1)  gaps between those, pooled   usage, else tokenizer, else 1
                     text in it or not
    sglang           content, reasoning        (last line of all - first)/(n-1)  gaps between those, pooled   usage, else what was asked
    genai_bench      content, reasoning        the same, left out below 1 ms     none                         usage, else tokenizer
    guidellm         any text                  (last text - sent) / n            (last text - first)/(n - 1)  usage, else chunks of text
    aiperf           content, reasoning        none                              (last - first) / (n - 1)     tokenizer, else usage
    inference_perf   content                   (last - first) / (n - 1)          the same, weighted by n - 1  tokenizer, else usage
    llmperf          content                   none                              (last content - sent) / all chunks but the end mark

A mean over requests, as they print it; pooled gaps and weighted ones over gaps.  Answered requests of our measured window
only: their windows, which hold ramp and drain, are not reproduced.  Equal to theirs where their time stamps are as good as
ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.latencies import NOT_STREAMED
from assay.metrics.rates import all_of, quotients, streamed, tally
from assay.units import SECONDS

NOTHING: Final = "no answer has what this definition needs (text of its kind, or more than one token)"


def mean(measured: Measured, name: str, *, weight: str = "") -> Mapping[str, Value]:
    """The mean of a column of `numbers`, in seconds, per configuration; of gaps: over the column that counts them."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    found = measured.peers.filter(pl.col(name).is_not_null())
    per_launch = tally(found, pl.col(name), pl.col(weight) if weight else None)
    return quotients(
        measured,
        per_launch,
        unit=SECONDS,
        name=name,
        missing=NOTHING,
        trials="below",
        aggregate=f"mean over {'gaps' if weight else 'requests'}, by another tool's definition",
    )
