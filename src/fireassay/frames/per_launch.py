"""How do values per launch become one estimate per configuration, or values per block?

What does a launch say about the time of one call?

A trial counts if it came after the requested warm-up, and after the warm-up detected in its launch's own series
(`fireassay.stats.series.steady_state`, from `MIN_SERIES` trials on). A series that slows down or keeps changing has no
warm-up to exclude: all of it counts, and the report names its launch. Slow trials are never dropped: outliers are flagged
(`outliers`), and the median of a launch includes them.
"""

from __future__ import annotations

import math
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import no_launch, no_logarithm, positive
from fireassay.frames.record_data import RecordData
from fireassay.stats.series.steady_state import SteadyState, steady_state

MIN_SERIES: Final = 20  # shorter series do not show a warm-up
NOT_TIMED: Final = "its launches have no timed calls; use assay time"
FAR: Final = 10.0  # robust standard deviations above the median of its launch: an outlier


def refused(measured: RecordData) -> Absent | None:
    """Why there is no time of a call at all."""
    if measured.table("trials").height or measured.kind.times_calls:
        return None
    return Absent("not_applicable", NOT_TIMED)


def asked_to_count(measured: RecordData) -> pl.DataFrame:
    """The trials of timed launches without the requested warm-up, with `seconds`, `cpu_s` of one call."""
    rows = measured.table("trials").filter(pl.col("warm_up") == 0).sort("launch", "trial")
    rows = rows.join(measured.timed.select("launch", "configuration", "block"), on="launch")
    return rows.with_columns(
        ((pl.col("end_ns") - pl.col("begin_ns")) / pl.col("calls") / 1e9).alias("seconds"),
        ((pl.col("user_ns") + pl.col("system_ns")) / pl.col("calls") / 1e9).alias("cpu_s"),
    )


def states(rows: pl.DataFrame) -> dict[int, SteadyState]:
    """launch -> steady state of its series of trials, for launches with enough of them."""
    groups = rows.partition_by("launch", maintain_order=True)
    return {int(group["launch"][0]): steady_state(group["seconds"].to_numpy()) for group in groups if group.height >= MIN_SERIES}


def counted(measured: RecordData) -> pl.DataFrame:
    """`asked_to_count` without the detected warm-up; of an imported record all of it, as the other program counted."""
    rows = asked_to_count(measured)
    if measured.foreign is not None:
        return rows
    launch_states = states(rows)
    begins = [state.warmup if state.kind in ("flat", "warm-up") else 0 for state in launch_states.values()]
    warm = pl.DataFrame({"launch": list(launch_states), "_warm": begins}, schema={"launch": pl.Int32, "_warm": pl.Int64})
    placed = rows.with_columns(pl.int_range(pl.len()).over("launch").alias("_place"))
    kept = placed.join(warm, on="launch", how="left").filter(pl.col("_place") >= pl.col("_warm").fill_null(0))
    return kept.drop("_place", "_warm")


def outliers(rows: pl.DataFrame) -> int:
    """Trials that lie more than `FAR` robust standard deviations (1.4826 MAD) above the median of their launch."""
    centre = pl.col("seconds").median().over("launch")
    spread = (pl.col("seconds") - centre).abs().median().over("launch") * 1.4826
    return int(rows.select(((pl.col("seconds") - centre > FAR * spread) & (spread > 0)).sum()).item() or 0)


def per_launch(rows: pl.DataFrame, column: str, aggregate: str) -> pl.DataFrame:
    """(launch, value, trials) by the median or the mean of a column; a launch without readings has no row."""
    known = rows.filter(pl.col(column).is_not_null())
    fold = pl.col(column).median() if aggregate == "median" else pl.col(column).mean()
    return known.group_by("launch").agg(fold.alias("value"), pl.len().alias("trials"))


def from_frame(
    measured: RecordData, values: pl.DataFrame, *, unit: str, aggregate: str, name: str, missing: str, trials: str = ""
) -> dict[str, Value]:
    """One estimate per configuration from a frame (launch, value[, trials]); positive values, Student t on their logs.

    `missing` completes the sentence of an absent value; `aggregate` says how a launch's value is formed.
    """
    known = {row["launch"]: row for row in values.iter_rows(named=True)}
    estimates: dict[str, Value] = {}
    for configuration in measured.configurations:
        launches = measured.timed_by_block.get(configuration, ())
        rows = [known[launch] for launch, _ in launches if launch in known]
        present = [row for row in rows if row["value"] is not None and math.isfinite(row["value"])]
        numbers = [row["value"] for row in present]
        if not launches:
            estimates[configuration] = no_launch(configuration)
        elif not present:
            estimates[configuration] = Absent("not_measured", missing)
        elif (refused := no_logarithm(numbers, name)) is not None:
            estimates[configuration] = refused
        else:
            n_trials = int(sum(row[trials] or 0 for row in present)) if trials in values.columns else len(numbers)
            estimates[configuration] = positive(numbers, measured.confidence, unit=unit, aggregate=aggregate, name=name, n_trials=n_trials)
    return estimates


def in_blocks(measured: RecordData, values: pl.DataFrame, configuration: str) -> dict[int, float]:
    """block -> value of the configuration's launch in that block, from a frame (launch, value)."""
    known = dict(zip(values["launch"], values["value"], strict=True))
    launches = measured.timed_by_block.get(configuration, ())
    return {block: known[launch] for launch, block in launches if known.get(launch) is not None}
