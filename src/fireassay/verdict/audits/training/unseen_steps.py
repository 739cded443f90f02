"""Was torch imported, but no step recorded?

Then only wall time can be judged, and the report must say so first. Hooks observe torch optimizers in the process that the launcher
started. They miss parameters updated by hand, training in processes that the script starts itself, and optimizers outside torch. Each
worker reports the reason. Cannot tell: a worker that never imported torch itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per configuration with torch imported but no steps recorded."""
    notices = measured.table("events").filter(pl.col("kind") == "steps_unseen")
    seen = measured.table("steps").select("launch").unique()
    why = pl.col("detail").str.json_path_match("$.why").alias("why")
    blind = measured.timed.join(notices.select("launch", "rank", why), on="launch").join(seen, on="launch", how="anti")
    for name, rows in by_configuration(measured, blind.sort("launch", "rank")):
        evidence = (
            f"torch was imported, but no training step was recorded in {count(rows['launch'].n_unique(), 'launches')}: {rows['why'][0]}; "
            "times are those of whole launches, start-up included"
        )
        remedy = "let the launcher start the workers (no mp.spawn), use an optimizer of torch.optim, or mark the steps: probe.steps(loader)"
        yield Finding("steps_unseen", "warning", name, evidence, remedy)


AUDIT = Audit(
    name="unseen_steps",
    title="no recorded step",
    question="Was torch imported, but no step recorded?",
    examine=examine,
    about=("training",),
    first=True,
)
