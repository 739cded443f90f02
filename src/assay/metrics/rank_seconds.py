"""Where did the rank-seconds go?  Shared by the goodput metrics."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import no_launch, of_interval
from assay.frames.clock_offsets import on_one_clock
from assay.frames.record_data import Measured
from assay.frames.training.rank_time import CATEGORIES
from assay.frames.training.rank_time import partition as of_ranks
from assay.frames.training.recovery import NO_FAULT, struck_launches
from assay.frames.training.steady_series import MARK_STEPS
from assay.frames.training.unknown_progress import unknown_progress
from assay.stats.intervals.means import quotient
from assay.units import FRACTION, NS_PER_S


def partition(measured: Measured, role: str) -> pl.DataFrame:
    """(launch, configuration, workers, block, wall_s, one column of rank-seconds per category) of a role's launches.

    `timed`: the successful ones; `fault`: those in which a fault struck. See `assay.frames.training.rank_time`.  Made once.
    """
    return measured.once(f"partition {role}", lambda one: _partition(one, role))


def _partition(measured: Measured, role: str) -> pl.DataFrame:
    launches = measured.timed if role == "timed" else struck_launches(measured)
    wall = ((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("wall_s")
    base = launches.select("launch", "configuration", "workers", "block", wall)
    spent = of_ranks(measured, launches).group_by("launch").agg(pl.col(name).sum() / NS_PER_S for name in CATEGORIES)
    return base.join(spent, on="launch").sort("launch")


def goodput(measured: Measured, role: str, name: str) -> Mapping[str, Value]:
    """Productive share per configuration over the launches of a role."""
    parts = partition(measured, role)
    marked = set(measured.table("steps")["launch"].unique().to_list())
    return {configuration: _one(measured, parts, marked, role, name, configuration) for configuration in measured.configurations}


def _one(measured: Measured, parts: pl.DataFrame, marked: set[int], role: str, name: str, configuration: str) -> Value:
    own = parts.filter(pl.col("configuration") == configuration)
    if own.height == 0:
        return no_launch(configuration) if role == "timed" else NO_FAULT
    own = own.filter(pl.col("launch").is_in(list(marked)) & (pl.col("wall_s") > 0.0))  # a skipped launch took no time
    if own.height == 0:
        return Absent(reason="not_measured", detail=MARK_STEPS)
    refused = {launch: Absent(reason="refused", detail=why) for launch, why in on_one_clock(measured).troubles.items()}
    troubles = dict(unknown_progress(measured)) | refused  # all of such a launch is unknown, which is not a goodput of 0
    own, apart = own.filter(~pl.col("launch").is_in(list(troubles))), own
    if own.height == 0:
        return troubles[apart["launch"][0]]
    whole = own["workers"] * own["wall_s"]
    shares = (own["productive"] / whole).to_list()
    return of_interval(
        quotient(own["productive"].to_list(), whole.to_list(), measured.confidence),
        shares,
        measured.confidence,
        unit=FRACTION,
        name=name,
        n_trials=len(shares),
        tags="agg:productive share of workers x wall time|ci:t-quotient",
        method=f"sum of productive rank-seconds / sum of workers x wall time over {len(shares)} launches, Student t",
    )
