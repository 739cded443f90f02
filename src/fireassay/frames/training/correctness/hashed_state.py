"""At which checks was the hashed state (parameters or other) the same on all ranks?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fireassay.frames.training.effective_steps import effective_steps

if TYPE_CHECKING:
    from fireassay.frames.record_tables import RecordTables


def hashes(measured: RecordTables, *, role: str = "timed", what: str = "parameter_hash") -> pl.DataFrame:
    """(launch, configuration, workers, step, incarnation, ranks, agree, different, text) of every hashed step reported by all
    ranks: whether their hashes are equal, the number of different ones, and the first rank's."""
    return measured.once(f"hashes {role} {what}", lambda data: _hashes(data, role, what))


def _hashes(measured: RecordTables, role: str, what: str) -> pl.DataFrame:
    rows = effective_steps(measured.table("fingerprints").filter(pl.col("what") == what))
    launches = measured.table("launches").filter((pl.col("role") == role) & (pl.col("status") == "ok"))
    # A rank with several models has several hashes per step: their set is compared.
    of_rank = rows.lazy().group_by("launch", "step", "rank").agg(pl.col("incarnation").max(), pl.col("text").unique().sort())
    return (
        of_rank.with_columns(pl.col("text").list.join(" "))
        .group_by("launch", "step")
        .agg(
            pl.col("incarnation").max(),
            pl.col("rank").n_unique().alias("ranks"),
            (pl.col("text").n_unique() == 1).alias("agree"),
            pl.col("text").n_unique().alias("different"),
            pl.col("text").sort_by("rank").first(),
        )
        .join(launches.lazy().select("launch", "configuration", "workers"), on="launch")
        .filter(pl.col("ranks") == pl.col("workers"))
        .sort("launch", "step")
        .collect()
    )
