"""In which restarted launches is the step at which they continued unknown?

An unmodified script does not report it: its workers recognise the restored state (event `resumed`). If they could not, if ranks
continued from different steps, or if the state lies beyond every step that the launch had made, the lost and repeated work is
unknown, and every number that rests on it is Absent.
A script that marks its own steps reports the step itself (`probe.steps(start=...)`) and has no such event; its report counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData

TO_DO: Final = (
    "save and load the state, the optimizer's included, with torch.save, safetensors or torch.distributed.checkpoint, or mark the steps: "
    "probe.steps(loader, start=step)"
)


def unknown_progress(measured: RecordData) -> Mapping[int, Absent]:
    """launch -> why the step at which it continued after a restart is unknown."""
    return measured.once("unknown progress", _unknown_progress)


def _unknown_progress(measured: RecordData) -> dict[int, Absent]:
    resumed = measured.table("events").filter(pl.col("kind") == "resumed")
    if resumed.height == 0:
        return {}
    progress = measured.table("steps").group_by("launch", "incarnation").agg(pl.col("step").max() + 1)
    reasons: dict[int, Absent] = {}
    for (launch, incarnation), reports in resumed.sort("launch", "incarnation", "rank").group_by(
        "launch", "incarnation", maintain_order=True
    ):
        before = progress.filter((pl.col("launch") == launch) & (pl.col("incarnation") < incarnation))["step"].max()
        why = _why(reports, int(before or 0))  # type: ignore[arg-type]
        if why:
            reasons.setdefault(
                int(str(launch)),
                Absent(reason="not_measured", detail=f"the step at which the job continued after the restart is unknown: {why}; {TO_DO}"),
            )
    return reasons


def _why(resumed: pl.DataFrame, before: int) -> str:
    """The inconsistency in the reports of an incarnation's ranks; `before`: steps that the launch had made."""
    unrecognised = resumed.filter(pl.col("step").is_null())
    if unrecognised.height:
        reasons = unrecognised["detail"].str.json_path_match("$.why").drop_nulls().to_list()
        return f"on rank {unrecognised['rank'][0]} {reasons[0] if reasons else 'the restored state was not recognised'}"
    steps = resumed["step"].unique().sort().to_list()
    if len(steps) > 1:
        return f"its ranks continued from different steps ({', '.join(map(str, steps))})"
    if steps[0] > before:
        return f"it continued from step {steps[0]} but had made {before}: a state of another run"
    return ""
