"""How is a percentile of the pauses between tokens formed?  Shared by itl_p50 and itl_p99.

The gaps of all counted requests of a configuration are pooled (`assay.frames.serving.requests`), like other percentiles of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Estimate, Value
from assay.estimates.format import count
from assay.estimates.percentiles import tail_value
from assay.frames.record_data import Measured
from assay.metrics.latencies import NO_COUNT, NOT_STREAMED, counted, nothing, with_failures
from assay.metrics.rates import all_of, streamed


def percentile(measured: Measured, p: float, name: str) -> Mapping[str, Value]:
    """The p-quantile (0..1) of the gaps per configuration, in seconds."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    rows, windows = counted(measured), measured.served.windows
    found: dict[str, Value] = {}
    for configuration in measured.configurations:
        launches = measured.timed.filter(pl.col("configuration") == configuration).sort("block")["launch"].to_list()
        gaps = measured.served.gaps
        series = [gaps[launch] for launch in launches if launch in gaps and len(gaps[launch])]
        if not series:
            found[configuration] = nothing(measured, configuration, NO_COUNT)
            continue
        value = tail_value(series, p, name, measured.confidence, "gaps", few=True)
        if isinstance(value, Estimate):
            value = with_failures(value, rows.filter(pl.col("configuration") == configuration))
            evenly = int(windows.filter(pl.col("launch").is_in(launches))["evenly"].sum())
            value = replace(value, method=f"{value.method}; {spread(evenly)}")
        found[configuration] = value
    return found


def spread(evenly: int) -> str:
    """How the tokens of chunks are known, in words."""
    if not evenly:
        return "every chunk's tokens are known"
    return f"the tokens of {count(evenly, 'answers')} were spread evenly over their chunks, because nothing says which chunk brought which"
