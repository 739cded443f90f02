"""Are the energy readings reliable?

A counter that was reset, or may have wrapped more than once between readings, gives a lower bound (telemetry `energy_doubts`). A launch
shorter than 20 sensor periods is too short to resolve.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

FEWEST_PERIODS = 20


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning for lower bounds, one for launches too short for the sensor."""
    telemetry = measured.table("telemetry")
    doubtful = telemetry.filter((pl.col("counter") == "energy_doubts") & (pl.col("value") > 0))
    if doubtful.height:
        launches = doubtful["launch"].n_unique()
        yield _finding(
            "energy_lower_bound",
            f"in {launches} launches a counter was reset or may have wrapped unnoticed: their joules are a lower bound",
            "read the counters more often (energy.sample_every_s)",
        )
    short = _too_short(measured, telemetry)
    if short is not None:
        yield short


def _too_short(measured: RecordData, telemetry: pl.DataFrame) -> Finding | None:
    period = telemetry.filter(pl.col("counter") == "sensor_period")["value"].max()
    if not isinstance(period, float):
        return None
    wall = ((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("wall")
    short = measured.timed.select("launch", wall).filter(pl.col("wall") < FEWEST_PERIODS * period)
    if short.height == 0:
        return None
    return _finding(
        "energy_window_short",
        f"{short.height} launches are shorter than {FEWEST_PERIODS} periods of {reading(period, SECONDS)} of the energy sensor",
        "run longer launches, or disregard their joules",
    )


def _finding(rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(rule, "warning", None, evidence, remedy)


AUDIT = Audit(
    name="energy_readings",
    title="unreliable energy readings",
    question="Are the energy readings reliable?",
    examine=examine,
    about=EVERYTHING,
)
