"""What weight did every sample have on every rank?

Averaging the ranks' gradients gives each of rank r's samples the weight 1 / (W d_r), where d_r is the divisor of the rank's
sum of losses; the correct weight is 1/N, N all items of the step.
"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData, effective_steps

ROUNDING = 1e-15  # of all items / workers, which need not be a whole number


def weights(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, workers, step, rank, total, denominator, off) of the reported denominators."""
    return measured.once("sample weights", _weights)


def _weights(measured: RecordData) -> pl.DataFrame:
    reported = measured.table("fingerprints").filter(pl.col("what") == "denominator")
    rows = effective_steps(reported).select("launch", "rank", "step", pl.col("value").alias("denominator"))
    totals = shares(measured, rows.select("launch").unique()).group_by("launch", "step").agg(pl.col("items").sum().alias("total"))
    joined = rows.join(totals, on=["launch", "step"]).join(measured.timed.select("launch", "configuration", "workers"), on="launch")
    right = pl.col("workers") * pl.col("denominator")
    return (
        joined.with_columns((pl.col("total") / right - 1.0).abs().alias("off"))
        .filter(pl.col("off").is_not_nan())
        .with_columns(pl.when(pl.col("off") < ROUNDING).then(0.0).otherwise(pl.col("off")).alias("off"))
        .sort("launch", "step", "rank")
    )


def shares(measured: RecordData, launches: pl.DataFrame | None = None) -> pl.DataFrame:
    """(launch, step, rank, items): the work of every rank in steps where all ranks' work is known; without items, its samples.
    `launches`: a frame (launch) to restrict to; default: the timed ones."""
    wanted = measured.timed.select("launch") if launches is None else launches
    tables = {name: measured.table(name).join(wanted, on="launch", how="semi") for name in ("steps", "samples")}
    steps = effective_steps(tables["steps"]).lazy().select("launch", "step", "rank", "items")
    ids = effective_steps(tables["samples"]).lazy().select("launch", "step", "rank", pl.col("ids").list.len().cast(pl.Float64).alias("ids"))
    counted = ids.group_by("launch", "step", "rank").agg(pl.col("ids").sum())
    joined = steps.unique(["launch", "step", "rank"]).join(counted, on=["launch", "step", "rank"], how="full", coalesce=True)
    known = joined.with_columns(pl.coalesce("items", "ids").alias("items")).filter(pl.col("items").is_not_null())
    timed = known.join(measured.timed.lazy().select("launch", "workers"), on="launch")
    complete = timed.filter(pl.len().over("launch", "step") == pl.col("workers"))
    return complete.select("launch", "step", "rank", "items").sort("launch", "step", "rank").collect()
