"""What does a worker-second cost?

How many joules did each launch use, and by which method?

Counted joules of all devices are added; modelled estimates are a separate method and never added to them. Each device's
counter runs from the launch's first reading to its last.
"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.units import SECONDS_PER_HOUR

NO_PRICES = Absent("not_measured", "the experiment gives no prices; add [prices] usd_per_worker_hour, date and source")


def usd_per_worker_second(measured: RecordData) -> float | None:
    """The price per second from the experiment; None if it gives none."""
    prices = measured.experiment.prices
    return None if prices is None else prices.usd_per_worker_hour / SECONDS_PER_HOUR


def launch_usd(launches: pl.DataFrame, usd_per_second: float) -> pl.DataFrame:
    """(launch, value): workers x price x wall time of every given launch, whatever its status."""
    seconds = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
    return launches.select("launch", (pl.col("workers") * seconds * usd_per_second).alias("value"))


def energy_method(measured: RecordData) -> str | None:
    """counter or modelled, from the telemetry; None without energy readings."""
    methods = set(_readings(measured)["method"].to_list())
    return "counter" if "counter" in methods else "modelled" if "modelled" in methods else None


def launch_joules(measured: RecordData) -> pl.DataFrame:
    """(launch, value): joules of all devices of a launch, by the one method that applies."""
    method = energy_method(measured) or ""
    readings = _readings(measured).filter(pl.col("method") == method)
    per_device = readings.group_by("launch", "host", "device").agg(pl.col("value").max())
    return per_device.group_by("launch").agg(pl.col("value").sum())


def no_energy(measured: RecordData) -> Absent:
    """Why there are no joules, as the instrument reported it."""
    if measured.experiment.energy.source == "none":
        return Absent("not_measured", 'the experiment requests no energy (energy.source = "none")')
    energy = measured.before.get("energy")
    reason = energy.get("absent") if isinstance(energy, dict) else None
    return Absent("not_measured", str(reason or "no energy counter was readable on this machine (RAPL, NVML)"))


def _readings(measured: RecordData) -> pl.DataFrame:
    return measured.table("telemetry").filter(pl.col("counter") == "energy")
