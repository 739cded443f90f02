"""How is a percentile of requests formed?  Shared by every percentile of a latency.

The answered requests that were due in the measured window of all timed launches are pooled; the interval comes from the
spread between launches (`assay.estimates.percentiles`).  Percentiles of launches are never averaged.  A failed request has no
latency: the method says how many there were, and slo_attainment and goodput count them as misses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import count
from assay.estimates.over_launches import no_launch
from assay.estimates.percentiles import tail_value
from assay.frames.record_data import Measured
from assay.frames.serving.requests import WINDOW

NOT_STREAMED = Absent(
    reason="not_applicable", detail="answers were not streamed (serving.stream = false), so no chunk has a time of its own"
)
NO_TEXT = "no answer brought any text; embeddings and scores have no tokens"
NO_COUNT = (
    "no answer of more than one token tells how many it has: the server sends no usage; name the model's tokenizer (serving.tokenizer)"
)


def percentile(measured: Measured, column: str, p: float, name: str, missing: str, only: pl.Expr | None = None) -> dict[str, Value]:
    """The p-quantile (0..1) of a column of `Served.requests`, in seconds, per configuration.

    `only` picks requests from the counted ones that were answered (default: all); `missing` says why there may be none.
    """
    rows = counted(measured)
    chosen = rows.filter((pl.col("ok") if only is None else only) & pl.col(column).is_not_null())
    series = in_series(measured, chosen.select("launch", "configuration", pl.col(column).alias("value")))
    return {
        configuration: _value(measured, rows, series[configuration], p, name, configuration, missing)
        for configuration in measured.configurations
    }


def counted(measured: Measured) -> pl.DataFrame:
    """The requests of the timed launches that were due in the measured window, launches by block, each by due time."""
    return measured.counted_requests


def timed(measured: Measured) -> pl.DataFrame:
    """All requests of the timed launches, launches by block, each by due time."""
    return measured.timed_requests


def in_series(measured: Measured, values: pl.DataFrame) -> dict[str, list[NDArray[np.float64]]]:
    """Per configuration one array per launch that has any, from a frame (launch, configuration, value) in order."""
    found: dict[str, list[NDArray[np.float64]]] = {configuration: [] for configuration in measured.configurations}
    for own in values.partition_by("launch", maintain_order=True):
        found[own["configuration"][0]].append(own["value"].to_numpy())
    return found


def nothing(measured: Measured, configuration: str, missing: str) -> Absent:
    """Why a configuration has no value: no launch, no measured window, or what is missing."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    if len(launches) == 0:
        return no_launch(configuration)
    windows = measured.served.windows.filter(pl.col("launch").is_in(launches.to_list()))
    if not measured.timeless and windows["seconds"].null_count() == windows.height:
        return Absent(
            reason="insufficient",
            detail="no request became due after the warm-up (in a closed loop: after the first wave had ended); give "
            "serving.arrivals.duration_s more time",
        )
    return Absent(reason="not_measured", detail=missing)


def _value(
    measured: Measured, rows: pl.DataFrame, series: list[NDArray[np.float64]], p: float, name: str, configuration: str, missing: str
) -> Value:
    if not series:
        return nothing(measured, configuration, missing)
    found = tail_value(series, p, name, measured.confidence, "requests", few=True)
    if isinstance(found, Absent):
        return found
    return with_failures(found, rows.filter(pl.col("configuration") == configuration))


def with_failures(found: Estimate, rows: pl.DataFrame) -> Estimate:
    """The estimate with the number of requests that have no latency in its method, and the window."""
    failed = rows.height - int(rows["ok"].sum())
    beside = f"{count(failed, 'requests')} of {rows.height:,} that were due failed and are not among them"
    return replace(found, method=f"{found.method}; {beside}; {WINDOW}")
