"""How much useful work did a run do?

useful_work = what the script declared by probe.useful_work(n); else the items of all ranks in the steps that finally
counted (a step done again after a restart counts once).  It is the denominator of cost and energy per item.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import COUNT


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Items per run."""
    return from_frame(
        measured,
        work_per_launch(measured),
        unit=COUNT,
        name="useful_work",
        trials="",
        missing="the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)",
        aggregate="declared work, else the items of the steps that counted",
    )


def work_per_launch(measured: Measured) -> pl.DataFrame:
    """(launch, value) of every launch that says how much work it did."""
    counted = measured.global_steps.filter(pl.col("items").is_not_null()).group_by("launch").agg(pl.col("items").sum().alias("counted"))
    declared = (
        measured.table("events").filter(pl.col("kind") == "useful_work").group_by("launch").agg(pl.col("value").max().alias("declared"))
    )
    both = counted.join(declared, on="launch", how="full", coalesce=True)
    return both.select("launch", pl.coalesce("declared", "counted").alias("value"))


METRIC = Metric(
    name="useful_work",
    title="Useful work of a run",
    unit=COUNT,
    kind="count",
    better="higher",
    dimension="cost",
    formula="declared work, else sum of items over the steps that counted",
    compute=compute,
)
