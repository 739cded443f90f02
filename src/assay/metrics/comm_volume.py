"""How many bytes does a rank send into the collectives of a step?

comm_volume = bytes of a step's collectives as nccl-tests counts them, mean over ranks, median over steps after warm-up.  By the hooks; by
torch's own
flight recorder where those saw nothing, or not all that it lists; which of the two stands in the method, and whether they agree.
Source: nccl-tests' `GetBw` for the amounts; house research 2.1 (DDP sends its gradients once, FSDP its parameters three times).
It cannot tell what went over a link: a ring all_reduce moves 2 (n - 1) / n of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import average, no_launch
from assay.frames.record_data import Measured
from assay.frames.training.listed_collectives import Inventory, inventory, why_none
from assay.frames.training.watched_steps import named
from assay.metrics.base import Metric, Results
from assay.metrics.communication import NOT_SEEN, ONE
from assay.units import BYTES

UNSIZED = (
    "torch's flight recorder lists {listed:.3g} collectives a step, of which the hooks saw {seen:.3g}: the bytes of the others are not known, "
    "since it lists a type whose size is not known"
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """By the hooks, else by torch's own list."""
    calls = measured.communicated.calls.group_by("launch", "step").agg(pl.col("bytes").mean())
    per_launch = calls.group_by("launch").agg(pl.col("bytes").median(), pl.len().alias("steps"))
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return {one.name: ONE if one.workers == 1 else _one(measured, joined, one.name) for one in measured.varied}


def _one(measured: Measured, joined: pl.DataFrame, configuration: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    listed, seen = inventory(measured, configuration), rows.filter(pl.col("bytes").is_not_null())
    if seen.height and (listed is None or not listed.unseen):
        return average(
            seen["bytes"].to_list(),
            measured.confidence,
            unit=BYTES,
            name="comm_volume|by:hooks",
            n_trials=int(seen["steps"].sum()),
            aggregate=f"median over {named(measured.table('communication'), seen)} of the mean over ranks of the bytes of the collectives "
            f"that the hooks saw; {_beside(measured, configuration, listed)}",
        )
    if seen.height and listed is not None and listed.nbytes is None:
        return Absent(reason="not_measured", detail=UNSIZED.format(listed=listed.calls, seen=listed.seen or 0.0))
    if listed is None or listed.nbytes is None:
        why = why_none(measured, configuration)
        return Absent(reason="not_measured", detail=f"{NOT_SEEN}{f'; nor by torch itself: {why}' if why else ''}")
    left = f", of which the hooks saw {listed.seen:.3g}" if listed.seen is not None else ""
    return average(
        listed.nbytes,
        measured.confidence,
        unit=BYTES,
        name="comm_volume|by:flight_recorder",
        n_trials=listed.steps,
        aggregate=f"median over its last steps of the mean over ranks of the bytes that torch's flight recorder lists: {listed.words}{left}",
    )


def _beside(measured: Measured, configuration: str, listed: Inventory | None) -> str:
    if listed is not None:
        return f"torch's flight recorder lists no more of them: {listed.words}"
    why = why_none(measured, configuration)
    return f"torch's flight recorder cannot be held against it{f': {why}' if why else ''}"


METRIC = Metric(
    name="comm_volume",
    title="Communicated bytes",
    unit=BYTES,
    kind="count",
    better="neither",
    dimension="performance",
    formula="median over steps of the mean over ranks of the bytes of its collectives",
    compute=compute,
    about=("training",),
)
