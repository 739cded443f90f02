"""Which version of a step counts, where a restart has done it again?"""

from __future__ import annotations

import polars as pl


def effective_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Each rank's steps as they finally counted: of a step done again after a restart, the last version."""
    if steps.height == 0 or steps["incarnation"].max() == 0:
        return steps
    last = pl.col("incarnation").max().over("launch", "step")
    return steps.filter(pl.col("incarnation") == last)
