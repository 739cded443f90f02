"""How far apart are the last losses of a configuration and of the base, with the same seed?

final_loss_difference = mean loss of the last 10 common steps of a launch - that of the base's launch in the same block;
the loss of a step is the mean over its ranks.  Undefined where one of these is no finite number.  Advice, never a gate: equal loss curves
hide scaled gradients (quality.md fact 8), and different ones may be rounding that grew.  Quality is decided on held-out examples.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import average, no_launch
from assay.frames.record_data import Measured
from assay.frames.training.loss_curves import loss_curves
from assay.frames.training.parallelism import absent
from assay.metrics.base import Metric, Results

LAST = 10  # steps
UNIT = "loss"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Paired difference per configuration."""
    curves = loss_curves(measured)
    base = curves.filter(pl.col("configuration") == measured.base)
    reference = base.select("block", "step", pl.col("loss").alias("reference"))
    return {name: _one(measured, curves, reference, name) for name in measured.configurations}


def _one(measured: Measured, curves: pl.DataFrame, reference: pl.DataFrame, name: str) -> Value:
    if name == measured.base:
        return Absent(reason="not_applicable", detail="this is the reference")
    if (unfit := absent(measured, name, "loss")) is not None:
        return unfit
    if measured.timed.filter(pl.col("configuration") == name).height == 0:
        return no_launch(name)
    pairs = curves.filter(pl.col("configuration") == name).join(reference, on=["block", "step"])
    if pairs.height == 0:
        return Absent(reason="not_measured", detail="no loss was reported on both sides; call probe.log(loss=loss)")
    last = pairs.sort("block", "step").group_by("block", maintain_order=True).tail(LAST)
    broken = last.filter(~(pl.col("loss").is_finite() & pl.col("reference").is_finite()))
    if broken.height:  # to leave these out would judge a training that broke by its losses before
        since = min(broken["step"].to_list())
        detail = f"{broken.height} of the {last.height} last common losses are no finite numbers, the first at step {since}"
        return Absent(reason="undefined", detail=detail)
    per_block = last.group_by("block").agg((pl.col("loss") - pl.col("reference")).mean().alias("d")).sort("block")
    return average(
        per_block["d"].to_list(),
        measured.confidence,
        unit=UNIT,
        name=f"final_loss_difference|base:{measured.base}",
        aggregate=f"difference to the base's launch of the block, mean over the last {LAST} common steps",
        n_trials=last.height,
    )


METRIC = Metric(
    name="final_loss_difference",
    title="Last losses against the base",
    unit=UNIT,
    kind="level",
    better="lower",
    dimension="correctness",
    formula="mean over the last 10 common steps of loss(p) - loss(base), paired by block",
    compute=compute,
)
