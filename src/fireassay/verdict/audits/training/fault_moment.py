"""Did a fault strike at another moment because no checkpoint was recorded?

By default a fault strikes some steps after the first checkpoint. If no earlier launch saved one, it strikes halfway through the steps: the
job survives by restarting from scratch, or not at all, and no checkpoint was tested.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One note per configuration."""
    planned = pl.col("detail").str.json_path_match("$.instead_of").alias("planned")
    struck = measured.table("events").filter(pl.col("kind") == "fault").select("launch", "step", planned)
    moved = struck.drop_nulls("planned").join(measured.table("launches"), on="launch").sort("launch")
    for name, rows in by_configuration(measured, moved):
        launch, step, planned_at = rows.select("launch", "step", "planned").row(0)
        evidence = f"no checkpoint was recorded, so the fault of launch {launch} struck after step {step} and not {planned_at}"
        remedy = (
            "save the state by torch.save, safetensors or torch.distributed.checkpoint, mark it (probe.checkpoint_save), or set a "
            "step: faults.at_step"
        )
        yield Finding("no_checkpoint_seen", "note", name, evidence, remedy)


AUDIT = Audit(
    name="fault_moment",
    title="fault without a checkpoint",
    question="Did a fault strike before any checkpoint was recorded?",
    examine=examine,
    about=("training",),
)
