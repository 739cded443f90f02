"""Which launches were ended after a requested number of steps, and what can they not show?

`workload.steps` ends a job early: its last epoch is cut and there is no final model. Values that need a whole job are absent
for that reason, never a loss or a worse quality. The workers report that they reached the number (event `steps_reached`); a
script that stopped earlier by itself counts as complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count

if TYPE_CHECKING:
    from fireassay.frames.record_tables import RecordTables


def ended(measured: RecordTables) -> frozenset[int]:
    """The launches that were ended after their steps."""
    return measured.once("ended launches", _ended)


def _ended(measured: RecordTables) -> frozenset[int]:
    return frozenset(measured.table("events").filter(pl.col("kind") == "steps_reached")["launch"].to_list())


def ended_words(measured: RecordTables) -> str:
    """The requested number of steps: "ended after 200 steps as requested, after 20 to warm up"; "" if no launch was ended."""
    workload = measured.experiment.workload
    if workload.steps is None or not ended(measured):
        return ""
    return f"ended after {count(workload.steps, 'steps')} as requested, after {workload.warm_up_steps} to warm up"


def not_to_its_end(measured: RecordTables, configuration: str, lacking: str) -> Absent | None:
    """Why a configuration's launches do not show this; None if any of them ran to completion."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"].to_list()
    if not launches or not set(launches) <= ended(measured):
        return None
    return Absent(reason="not_measured", detail=f"every launch was {ended_words(measured)}: {lacking}")
