"""How much was under way, and how long did what came in take?  Both sides of Little's law, shared by two metrics."""

from __future__ import annotations

from typing import Final

import polars as pl

from assay.frames.record_data import Measured
from assay.metrics.latencies import timed
from assay.metrics.rates import windows
from assay.stats.models.queueing import little
from assay.units import NS_PER_S

SIDES: Final = {"launch": pl.Int32, "area_s": pl.Float64, "latency_s": pl.Float64, "seconds": pl.Float64}


def both_sides(measured: Measured) -> pl.DataFrame:
    """(launch, area_s, latency_s, seconds) of the timed launches: request-seconds inside of the window, the sum of the latencies
    of the requests that were due in it, and its length.  What was never sent, or has no end, is in neither."""
    rows = timed(measured).filter((pl.col("phase") != "cold") & pl.col("sent_ns").is_not_null() & pl.col("done_ns").is_not_null())
    end = pl.coalesce("last_token_ns", "done_ns")
    spans = rows.select("launch", "start_ns", pl.max_horizontal(end, "start_ns").alias("end"))
    found = [_one(spans.filter(pl.col("launch") == window["launch"]), window) for window in windows(measured).to_dicts()]
    return pl.DataFrame([row for row in found if row is not None], schema=SIDES, orient="row")


def _one(spans: pl.DataFrame, window: dict[str, int | float]) -> tuple[int, float, float, float] | None:
    begin_ns, end_ns = int(window["begin_ns"]), int(window["end_ns"])
    seen = spans.filter((pl.col("start_ns") < end_ns) & (pl.col("end") > begin_ns) & (pl.col("end") > pl.col("start_ns")))
    if seen.height == 0:
        return None
    begins, ends = ((seen[name] - begin_ns).to_numpy() / NS_PER_S for name in ("start_ns", "end"))
    sides = little(begins, ends, (0.0, float(window["seconds"])))
    seconds = float(window["seconds"])
    return int(window["launch"]), sides.in_flight * seconds, sides.in_flight * seconds * (1.0 - sides.residual), seconds
