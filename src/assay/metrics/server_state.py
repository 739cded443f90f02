"""What did an engine say of itself while it was measured?  Shared by the metrics of its scraped counters."""

from __future__ import annotations

from typing import Literal

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.rates import quotients, windows

NOT_SCRAPED = "the engine's own counters were not read; give serving.targets[].metrics, for example http://127.0.0.1:8000/metrics"


def mean_reading(measured: Measured, counter: str, *, unit: str, name: str, together: Literal["sum", "mean"]) -> dict[str, Value]:
    """Mean of a gauge's readings inside of the window per device, the devices added up or averaged, then over launches."""
    readings = measured.table("telemetry").filter(pl.col("counter") == counter)
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    inside = readings.join(bounds, on="launch").filter((pl.col("ns") >= pl.col("begin_ns")) & (pl.col("ns") <= pl.col("end_ns")))
    per_device = inside.group_by("launch", "host", "device").agg(pl.col("value").mean(), pl.len().alias("readings"))
    value = pl.col("value").sum() if together == "sum" else pl.col("value").mean()
    rows = per_device.group_by("launch").agg(value.alias("above"), pl.col("readings").sum(), pl.lit(1.0).alias("below"))
    return quotients(
        measured, rows, unit=unit, name=name, aggregate=f"mean reading of {counter} in the window", missing=NOT_SCRAPED, trials="readings"
    )
