"""Was it strong or weak scaling, by the recorded work?

Used if the scaling mode is not declared. strong: the items of all ranks per step are the same at every worker count; weak: they
grow in proportion to the workers. The nearer of the two, by the sum over worker counts of |log(recorded / expected)|; a tie,
or a record without items or with one worker count, is strong. The audit `scaling_mode` checks whether the nearer one fits.
Cannot tell the intention: a script with a fixed batch per rank, and epochs of the same data, is weak by its steps although
the epoch's work is fixed; `same_total` reports that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal

import polars as pl

Mode = Literal["strong", "weak"]
TOLERANCE: Final = 0.02  # relative; the last batch of an epoch may be smaller


def items_per_step(steady_steps: pl.DataFrame, timed: pl.DataFrame) -> Mapping[int, float]:
    """Worker count -> median items of all ranks per steady step, for those that counted any."""
    steps = steady_steps.filter(pl.col("items").is_not_null()).join(timed.select("launch", "workers"), on="launch")
    medians = steps.group_by("workers").agg(pl.col("items").median())
    return {int(level): float(value) for level, value in medians.sort("workers").iter_rows()}


def nearest(items: Mapping[int, float], base_level: int) -> Mode:
    """The mode nearest to the items per step."""
    base = items.get(base_level, 0.0)
    others = [(level, count) for level, count in items.items() if level != base_level and count > 0.0]
    if base <= 0.0:
        return "strong"
    strong = sum(abs(math.log(count / base)) for _, count in others)
    weak = sum(abs(math.log(count / (base * level / base_level))) for level, count in others)
    return "weak" if weak < strong else "strong"


def same_total(global_steps: pl.DataFrame, timed: pl.DataFrame) -> bool:
    """True if every timed launch worked on the same total number of items."""
    steps = global_steps.join(timed.select("launch"), on="launch")
    if steps.height == 0 or steps["items"].null_count():
        return False
    totals = steps.group_by("launch").agg(pl.col("items").sum())["items"].to_list()
    return bool(max(totals) <= min(totals) * (1.0 + TOLERANCE))
