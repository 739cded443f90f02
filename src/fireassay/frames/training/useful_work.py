"""How much useful work did a launch do?

As declared by probe.useful_work(n); otherwise the items of all ranks in the steps that finally counted: a step repeated after
a restart counts once.
"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData

UNCOUNTED = "the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)"


def work_per_launch(measured: RecordData) -> pl.DataFrame:
    """(launch, value) of every launch with known work."""
    counted = measured.global_steps.filter(pl.col("items").is_not_null()).group_by("launch").agg(pl.col("items").sum().alias("counted"))
    declared = (
        measured.table("events").filter(pl.col("kind") == "useful_work").group_by("launch").agg(pl.col("value").max().alias("declared"))
    )
    joined = counted.join(declared, on="launch", how="full", coalesce=True)
    return joined.select("launch", pl.coalesce("declared", "counted").alias("value"))
