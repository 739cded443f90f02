"""Does the first loss equal that of the base's launch with the same seed?

loss_deviation = |loss(p) - loss(base)| / |loss(base)| at the first common step of a block, loss(p) the mean over ranks
weighted by items; the value is the largest of all blocks.  With the same seed and the same global batch it is rounding
(about 1e-7 in float32).  Later steps are advice only: rounding grows, and equal loss curves hide scaled gradients
(quality.md fact 8).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured, effective_steps
from assay.frames.training.parallelism import absent
from assay.metrics.base import Metric, Results
from assay.units import FRACTION

NOT_FINITE = Absent(reason="undefined", detail="a first loss is not a finite number")


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Largest relative difference of the first loss per configuration."""
    first = first_losses(measured)
    base = first.filter(pl.col("configuration") == measured.base).select("block", "step", pl.col("loss").alias("reference"))
    return {name: _one(measured, first, base, name) for name in measured.configurations}


def first_losses(measured: Measured) -> pl.DataFrame:
    """(launch, configuration, block, step, loss) at the first step whose loss was reported."""
    losses = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    rows = effective_steps(losses.filter(pl.col("step") == pl.col("step").min().over("launch")))
    steps = measured.table("steps").join(rows.select("launch", "step").unique(), on=["launch", "step"], how="semi")
    items = effective_steps(steps).select("launch", "rank", "step", "items").unique(["launch", "rank", "step"])
    weighted = rows.join(items, on=["launch", "rank", "step"], how="left")
    weight = pl.col("items").fill_null(1.0)
    mean = (pl.col("value") * weight).sum() / weight.sum()
    loss = pl.when(weight.sum() > 0.0).then(mean).otherwise(pl.col("value").mean()).alias("loss")
    means = weighted.sort("launch", "rank").group_by("launch", "step").agg(loss)
    return means.join(measured.timed.select("launch", "configuration", "block"), on="launch")


def _one(measured: Measured, first: pl.DataFrame, base: pl.DataFrame, name: str) -> Value:
    if name == measured.base:
        return Absent(reason="not_applicable", detail="this is the reference")
    if (unfit := absent(measured, name, "loss")) is not None:
        return unfit
    pairs = first.filter(pl.col("configuration") == name).join(base, on=["block", "step"])
    pairs = pairs.filter(pl.col("reference") != 0.0)
    if pairs.height == 0:
        return Absent(reason="not_measured", detail="no loss was reported; call probe.log(loss=loss)")
    if not (pairs["loss"].is_finite() & pairs["reference"].is_finite()).all():
        return NOT_FINITE
    deviation = ((pairs["loss"] - pairs["reference"]) / pairs["reference"]).abs().max()
    return exact(
        float(deviation),  # type: ignore[arg-type]
        unit=FRACTION,
        name="loss_deviation",
        n_launches=pairs.height,
        n_trials=pairs.height,
        how=f"largest of {pairs.height} blocks, first step, weighted by items",
    )


METRIC = Metric(
    name="loss_deviation",
    title="First loss against the base",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="correctness",
    formula="max over blocks |loss(p) - loss(base)| / |loss(base)| at the first step",
    compute=compute,
)
