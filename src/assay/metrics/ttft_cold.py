"""How long does the first request after an engine's start wait for its first token?

ttft_cold = median over the cold requests of a launch of first chunk with text - start, then over launches.  Cold
requests are sent one by one before the load (serving.arrivals.cold) and are in no other number.  Where assay starts the
engine, only launches for which it was started afresh count; of other engines it cannot tell whether they were cold.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import timed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median over cold requests per launch, then over launches."""
    started = measured.table("events").filter(pl.col("kind") == "server_ready").select("launch").unique()
    is_cold = (pl.col("phase") == "cold") & (pl.col("kind") == "normal")  # others are sent alone, to be compared
    cold = timed(measured).filter(is_cold & pl.col("ok") & pl.col("ttft_s").is_not_null())
    fresh = cold.join(started, on="launch", how="semi") if started.height else cold
    values = fresh.group_by("launch").agg(pl.col("ttft_s").median().alias("value"), pl.len().alias("requests"))
    return from_frame(
        measured,
        values,
        unit=SECONDS,
        name="ttft_cold",
        trials="requests",
        aggregate="median over the cold requests",
        missing="no cold request was answered; give serving.arrivals.cold at least 1",
    )


METRIC = Metric(
    name="ttft_cold",
    title="Time to first token, cold",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="median of first chunk with text - start over cold requests",
    compute=compute,
    about=("serving",),
)
