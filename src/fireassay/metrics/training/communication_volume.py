"""How many bytes does a rank communicate in a step?

Bytes are counted as in nccl-tests' `GetBw`. DDP sends gradients once, FSDP parameters three times (Zhao 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import Inventory, inventory, why_none
from fireassay.frames.training.communication.watched_steps import named
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.training.communication_steps import NOT_SEEN, of_several
from fireassay.units import BYTES

UNSIZED: Final = (
    "torch's flight recorder lists {listed:.3g} collectives a step, of which the hooks saw {seen:.3g}: the bytes of the others are unknown, since "
    "the list has a type of unknown size"
)


def _volume(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """From the hooks, otherwise from torch's own list."""
    calls = measured.communicated.calls.group_by("launch", "step").agg(pl.col("bytes").mean())
    per_launch = calls.group_by("launch").agg(pl.col("bytes").median(), pl.len().alias("steps"))
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return of_several(measured, lambda configuration: _volume_of(measured, joined, configuration))


def _volume_of(measured: RecordData, joined: pl.DataFrame, configuration: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    listed, known = inventory(measured, configuration), rows.filter(pl.col("bytes").is_not_null())
    if known.height and (listed is None or not listed.unseen):
        return average(
            known["bytes"].to_list(),
            measured.confidence,
            unit=BYTES,
            name="comm_volume|by:hooks",
            n_trials=int(known["steps"].sum()),
            aggregate=f"median over {named(measured, known)} of the mean over ranks of the bytes of the collectives "
            f"that the hooks saw; {_listed_beside(measured, configuration, listed)}",
        )
    if known.height and listed is not None and listed.nbytes is None:
        return Absent(reason="not_measured", detail=UNSIZED.format(listed=listed.calls, seen=listed.seen or 0.0))
    if listed is None or listed.nbytes is None:
        reason = why_none(measured, configuration)
        return Absent(reason="not_measured", detail=f"{NOT_SEEN}{f'; nor by torch itself: {reason}' if reason else ''}")
    left = f", of which the hooks saw {listed.seen:.3g}" if listed.seen is not None else ""
    return average(
        listed.nbytes,
        measured.confidence,
        unit=BYTES,
        name="comm_volume|by:flight_recorder",
        n_trials=listed.steps,
        aggregate=f"median over its last steps of the mean over ranks of the bytes that torch's flight recorder lists: {listed.words}{left}",
    )


def _listed_beside(measured: RecordData, configuration: str, listed: Inventory | None) -> str:
    if listed is not None:
        return f"torch's flight recorder lists no others: {listed.words}"
    reason = why_none(measured, configuration)
    return f"torch's flight recorder cannot be compared{f': {reason}' if reason else ''}"


COMM_VOLUME = Metric(
    name="comm_volume",
    title="Communicated bytes",
    unit=BYTES,
    kind="count",
    better="neither",
    dimension="performance",
    about=("training",),
    formula="median over steps of the mean over ranks of the bytes of its collectives",
    compute=_volume,
    question="How many bytes does a rank send into the collectives of a step?",
    caveat="Not what went over a link: a ring all_reduce moves 2 (n - 1) / n of it.",
    rank=1459,
)

METRICS = (COMM_VOLUME,)
