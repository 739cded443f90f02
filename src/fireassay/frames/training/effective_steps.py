"""Which version of a step counts if a restart repeated it?"""

from __future__ import annotations

import polars as pl


def effective_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Each rank's steps as they finally counted: the last version of a step repeated after a restart."""
    if steps.height == 0 or steps["incarnation"].max() == 0:
        return steps
    last = pl.col("incarnation").max().over("launch", "step")
    return steps.filter(pl.col("incarnation") == last)
