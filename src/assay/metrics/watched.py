"""In which steps was communication watched?  Hooks watch a steady DistributedDataParallel in some steps only; what is not seen in the others is not 0.

Source: `assay.instruments._watched_steps`; rows of `communication` whose method is unwatched.
"""

from __future__ import annotations

from typing import Final

import polars as pl

UNWATCHED: Final = "unwatched"


def unwatched(communication: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, incarnation, step) of the rank-steps whose communication nobody watched."""
    return communication.filter(pl.col("method") == UNWATCHED).select("launch", "rank", "incarnation", "step")


def watched(steps: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """The rows of `steps` (launch, step, ...) whose communication was watched on every rank, if it was on any."""
    missed = unwatched(communication)
    return steps.join(missed, on=["launch", "step"], how="anti") if missed.height else steps
