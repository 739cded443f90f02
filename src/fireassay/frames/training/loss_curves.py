"""What is the loss of each step, averaged over the ranks?"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData, effective_steps


def loss_curves(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, block, step, loss) of the timed launches; mean over ranks, null if one of them has none."""
    losses = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    means = effective_steps(losses).group_by("launch", "step").agg(pl.col("value").sort().mean().alias("loss"))
    return means.join(measured.timed.select("launch", "configuration", "block"), on="launch").sort("launch", "step")
