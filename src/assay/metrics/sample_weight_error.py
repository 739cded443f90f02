"""Did every sample weigh the same in the gradient, whatever rank it fell to?

Averaging the ranks' gradients gives each of rank r's samples the weight 1 / (W d_r), where d_r is what the rank's sum of losses was
divided by; right is 1/N, N all items of the step.  sample_weight_error = largest |N / (W d_r) - 1| over ranks and steps, and right is
0 but for the rounding of one division: a mean of means over unequal shards is not (house research, quality section 4, layer A; pytorch
issues 37359, 67253). d_r is told by probe.log(denominator=...); with token counts as items it is the number of valid tokens.
It cannot tell what the script did with a denominator it told, or did not tell; the gradient can.
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

NO_DENOMINATORS = Absent(
    reason="not_measured", detail="the script did not tell by what its losses are divided; call probe.log(denominator=...)"
)

ROUNDING = 1e-15  # of all items / workers, which need not be a whole number


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The worst rank and step of each configuration."""
    weighed = weights(measured)
    found: dict[str, Value] = {}
    for name in measured.configurations:
        if (unfit := absent(measured, name, "gradients")) is not None:
            found[name] = unfit
            continue
        own = weighed.filter(pl.col("configuration") == name)
        found[name] = (
            NO_DENOMINATORS
            if own.height == 0
            else exact(
                float(own["off"].max()),  # type: ignore[arg-type]
                unit=FRACTION,
                name="sample_weight_error",
                n_launches=own["launch"].n_unique(),
                n_trials=own.height,
                how=f"largest of {own.height} ranks and steps, exactly",
            )
        )
    return found


def weights(measured: Measured) -> pl.DataFrame:
    """(launch, configuration, workers, step, rank, total, denominator, off) where a denominator was told."""
    return measured.once("sample weights", _weights)


def _weights(measured: Measured) -> pl.DataFrame:
    told = measured.table("fingerprints").filter(pl.col("what") == "denominator")
    rows = effective_steps(told).select("launch", "rank", "step", pl.col("value").alias("denominator"))
    totals = shares(measured, rows.select("launch").unique()).group_by("launch", "step").agg(pl.col("items").sum().alias("total"))
    joined = rows.join(totals, on=["launch", "step"]).join(measured.timed.select("launch", "configuration", "workers"), on="launch")
    right = pl.col("workers") * pl.col("denominator")
    return (
        joined.with_columns((pl.col("total") / right - 1.0).abs().alias("off"))
        .filter(pl.col("off").is_not_nan())
        .with_columns(pl.when(pl.col("off") < ROUNDING).then(0.0).otherwise(pl.col("off")).alias("off"))
        .sort("launch", "step", "rank")
    )


def shares(measured: Measured, launches: pl.DataFrame | None = None) -> pl.DataFrame:
    """(launch, step, rank, items): the work of every rank in the steps of which all ranks' is known; without items, its samples.
    `launches`: a frame (launch) of those that are wanted; default: the timed ones."""
    wanted = measured.timed.select("launch") if launches is None else launches
    own = {name: measured.table(name).join(wanted, on="launch", how="semi") for name in ("steps", "samples")}
    steps = effective_steps(own["steps"]).lazy().select("launch", "step", "rank", "items")
    ids = effective_steps(own["samples"]).lazy().select("launch", "step", "rank", pl.col("ids").list.len().cast(pl.Float64).alias("ids"))
    counted = ids.group_by("launch", "step", "rank").agg(pl.col("ids").sum())
    both = steps.unique(["launch", "step", "rank"]).join(counted, on=["launch", "step", "rank"], how="full", coalesce=True)
    known = both.with_columns(pl.coalesce("items", "ids").alias("items")).filter(pl.col("items").is_not_null())
    timed = known.join(measured.timed.lazy().select("launch", "workers"), on="launch")
    whole = timed.filter(pl.len().over("launch", "step") == pl.col("workers"))
    return whole.select("launch", "step", "rank", "items").sort("launch", "step", "rank").collect()


METRIC = Metric(
    name="sample_weight_error",
    title="Weight of samples",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="correctness",
    formula="max over ranks and steps |N / (W d) - 1|, N items of the step, d what the rank's losses were divided by",
    compute=compute,
)
