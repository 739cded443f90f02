"""How is a percentile of requests, or of the gaps between their tokens, estimated?

The answered requests due in the measured window of all timed launches are pooled; the interval comes from the spread between
launches (`fireassay.estimates.over_launches`). Percentiles of launches are never averaged. A failed request has no latency: the method
gives their number, and slo_attainment and goodput count them as misses. Gaps (`fireassay.frames.serving.requests`) are pooled over
all of these requests in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch, tail_value
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import WINDOW

NO_TEXT = "no answer had any text; embeddings and scores have no tokens"
NO_COUNT = "no answer of more than one token has a token count: the server sends no usage; set the model's tokenizer (serving.tokenizer)"
ANSWERED = pl.col("ok")


def percentile(measured: RecordData, column: str, p: float, *, name: str, missing: str, only: pl.Expr = ANSWERED) -> Mapping[str, Value]:
    """The p-quantile (0..1) of a column of `Served.requests`, in seconds, per configuration.

    `only` selects from the counted requests; `missing` says why none may be left.
    """
    rows = measured.counted_requests
    chosen = rows.filter(only & pl.col(column).is_not_null())
    series = in_series(measured, chosen.select("launch", "configuration", pl.col(column).alias("value")))
    return {
        configuration: _of_requests(measured, rows, series[configuration], p, name, configuration, missing)
        for configuration in measured.configurations
    }


def gap_percentile(measured: RecordData, p: float, *, name: str) -> Mapping[str, Value]:
    """The p-quantile (0..1) of the gaps between tokens per configuration, in seconds."""
    return {configuration: _of_gaps(measured, p, name, configuration) for configuration in measured.configurations}


def in_series(measured: RecordData, values: pl.DataFrame) -> dict[str, list[NDArray[np.float64]]]:
    """Per configuration one array per launch that has any, from a frame (launch, configuration, value) in order."""
    series: dict[str, list[NDArray[np.float64]]] = {configuration: [] for configuration in measured.configurations}
    for rows in values.partition_by("launch", maintain_order=True):
        series[rows["configuration"][0]].append(rows["value"].to_numpy())
    return series


def nothing(measured: RecordData, configuration: str, missing: str) -> Absent:
    """Why a configuration has no value: no launch, no measured window, or `missing`."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    if len(launches) == 0:
        return no_launch(configuration)
    windows = measured.served.windows.filter(pl.col("launch").is_in(launches.to_list()))
    if not measured.timeless and windows["seconds"].null_count() == windows.height:
        return Absent(
            reason="insufficient",
            detail="no request became due after the warm-up (in a closed loop: after the first wave had ended); increase "
            "serving.arrivals.duration_s",
        )
    return Absent(reason="not_measured", detail=missing)


def spread(evenly: int) -> str:
    """How the chunks' token counts were obtained, in words."""
    if not evenly:
        return "every chunk's tokens are known"
    return f"the tokens of {count(evenly, 'answers')} were spread evenly over their chunks, because no count per chunk is known"


def _of_requests(
    measured: RecordData, rows: pl.DataFrame, series: list[NDArray[np.float64]], p: float, name: str, configuration: str, missing: str
) -> Value:
    if not series:
        return nothing(measured, configuration, missing)
    value = tail_value(series, p, name, measured.confidence, "requests", few=True)
    return _with_failures(value, rows, configuration)


def _of_gaps(measured: RecordData, p: float, name: str, configuration: str) -> Value:
    launches = measured.timed.filter(pl.col("configuration") == configuration).sort("block")["launch"].to_list()
    gaps = measured.served.gaps
    series = [gaps[launch] for launch in launches if launch in gaps and len(gaps[launch])]
    if not series:
        return nothing(measured, configuration, NO_COUNT)
    value = tail_value(series, p, name, measured.confidence, "gaps", few=True)
    value = _with_failures(value, measured.counted_requests, configuration)
    if isinstance(value, Absent):
        return value
    evenly = int(measured.served.windows.filter(pl.col("launch").is_in(launches))["evenly"].sum())
    return replace(value, method=f"{value.method}; {spread(evenly)}")


def _with_failures(value: Value, rows: pl.DataFrame, configuration: str) -> Value:
    """Add the number of requests without a latency, and the window, to the estimate's method."""
    if not isinstance(value, Estimate):
        return value
    due = rows.filter(pl.col("configuration") == configuration)
    beside = f"{count(due.height - int(due['ok'].sum()), 'requests')} of {due.height:,} due failed and are excluded"
    return replace(value, method=f"{value.method}; {beside}; {WINDOW}")
