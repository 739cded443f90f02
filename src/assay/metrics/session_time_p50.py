"""How long does a whole conversation or tool session take, as a rule?

session_time_p50 = 0.5-quantile of last token of the last turn - when the first turn was due, over the sessions that began
in the measured window and all of whose turns were answered, pooled over launches.  Thinking, tools and retrievals are in
it. Sessions that the end of the load cut off are left out, so that in short loads it leans to short ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.estimates.estimate import Estimate, Value
from assay.estimates.percentiles import tail_value
from assay.frames.record_data import Measured
from assay.frames.serving.requests import WINDOW
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import in_series, nothing, timed
from assay.units import NS_PER_S, SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled median per configuration."""
    series = in_series(measured, sessions(measured))
    return {name: _one(measured, name, series[name]) for name in measured.configurations}


def sessions(measured: Measured) -> pl.DataFrame:
    """(launch, configuration, value) of the complete sessions, launches by block, by their begin; seconds."""
    keys = ["launch", "session"]
    planned = measured.table("arrivals").filter(pl.col("session").is_not_null()).group_by(keys).agg(pl.len().alias("turns"))
    rows = timed(measured).filter(pl.col("session").is_not_null() & (pl.col("phase") != "cold"))
    folded = (
        rows.group_by(keys, maintain_order=True)
        .agg(
            pl.col("configuration").first(),
            pl.col("counted").first(),
            pl.len().alias("seen"),
            pl.col("ok").all(),
            pl.col("scheduled_ns").min().alias("begin"),
            pl.coalesce("last_token_ns", "done_ns").max().alias("end"),
        )
        .join(planned, on=keys, maintain_order="left")
    )
    whole = folded.filter(pl.col("counted") & pl.col("ok") & (pl.col("seen") == pl.col("turns")) & (pl.col("turns") > 1))
    return whole.select("launch", "configuration", ((pl.col("end") - pl.col("begin")) / NS_PER_S).alias("value"))


def _one(measured: Measured, configuration: str, series: Sequence[NDArray[np.float64]]) -> Value:
    if not series:
        missing = "no conversation of more than one turn was completed; give serving.prompts.turns, or the load more time"
        return nothing(measured, configuration, missing)
    found = tail_value(series, 0.5, "session_time_p50", measured.confidence, "sessions", few=True)
    return replace(found, method=f"{found.method}; {WINDOW}") if isinstance(found, Estimate) else found


METRIC = Metric(
    name="session_time_p50",
    title="Session time, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of last token of the last turn - first turn due",
    compute=compute,
    about=("serving",),
)
