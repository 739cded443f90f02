"""Which devices did a timed function's trials wait for, and which work went on after its return?

From the table `telemetry` as `instruments/calls` writes it: seconds of a synchronisation of each device in use (`synchronise`), the time of a
call by device events (`trial_device`) and until the host's return (`trial_returned`), and the processor time of other threads and children
after a return (`after_return_*`).  Commands have none of these: a process ends after its own work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData

AFTER: Final = "after_return_"
EXAMINED: Final = ("quiet", "follows", "unfinished")


@dataclass(frozen=True)
class Following:
    """Work after the return of a call, medians over the launches that show it; seconds."""

    affected: int  # launches
    examined: int
    processor_s: float
    returned_s: float
    ends: bool  # False: it still went on when the observation ended


def _readings(measured: RecordData) -> pl.DataFrame:
    return measured.table("telemetry").join(measured.timed.select("launch"), on="launch", how="semi")


def following(measured: RecordData) -> Following | None:
    """The work after a return; None if no launch could be examined."""
    rows = _readings(measured).filter((pl.col("device") == "process") & pl.col("counter").str.starts_with(AFTER))
    states = dict(zip(rows["launch"], rows["counter"].str.strip_prefix(AFTER), strict=True))
    examined = [launch for launch, state in states.items() if state in EXAMINED]
    if not examined:
        return None
    affected = [launch for launch in examined if states[launch] != "quiet"]
    processor = rows.filter(pl.col("launch").is_in(affected))["value"]
    returned = _readings(measured).filter(
        (pl.col("device") == "process") & (pl.col("counter") == "returned") & pl.col("launch").is_in(affected or examined)
    )["value"]
    ends = sum(states[launch] == "follows" for launch in affected) * 2 >= len(affected)
    return Following(len(affected), len(examined), _middle(processor), _middle(returned), ends)


def _middle(values: pl.Series) -> float:
    middle = values.median()
    return float(middle) if isinstance(middle, int | float) else 0.0


def synchronised(measured: RecordData) -> dict[str, float]:
    """Device -> median seconds of a synchronisation of its empty queue; empty if no device was in use."""
    rows = _readings(measured).filter(pl.col("counter") == "synchronise")
    return {name: _middle(rows.filter(pl.col("device") == name)["value"]) for name in sorted(set(rows["device"]))}


def not_waited_for(measured: RecordData) -> tuple[tuple[str, ...], int]:
    """The devices that were in use at the end and that trials did not wait for, and in how many launches."""
    rows = _readings(measured).filter(pl.col("counter") == "not_waited_for")
    return tuple(sorted(set(rows["device"]))), rows["launch"].n_unique()


def device_times(measured: RecordData) -> pl.DataFrame:
    """(launch, value, trials): median seconds of a call by device events; of several devices the one that took longest."""
    rows = _readings(measured).filter(pl.col("counter") == "trial_device")
    each = rows.group_by("launch", "device").agg(pl.col("value").median(), pl.len().alias("trials"))
    return each.group_by("launch").agg(pl.col("value").max(), pl.col("trials").max())


def return_time(measured: RecordData) -> float | None:
    """Median seconds until a call returned on the host, before its devices had finished; None without devices."""
    rows = _readings(measured).filter(pl.col("counter") == "trial_returned")
    return _middle(rows["value"]) if rows.height else None
