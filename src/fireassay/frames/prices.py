"""What does a worker-second cost?"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.units import SECONDS_PER_HOUR

NO_PRICES = Absent(reason="not_measured", detail="the experiment gives no prices; add [prices] usd_per_worker_hour, date and source")


def usd_per_worker_second(measured: RecordData) -> float | None:
    """The price per second from the experiment; None if it gives none."""
    prices = measured.experiment.prices
    return None if prices is None else prices.usd_per_worker_hour / SECONDS_PER_HOUR


def launch_usd(launches: pl.DataFrame, usd_per_second: float) -> pl.DataFrame:
    """(launch, value): workers x price x wall time of every given launch, whatever its status."""
    seconds = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
    return launches.select("launch", (pl.col("workers") * seconds * usd_per_second).alias("value"))
