"""Was torch imported and no step seen?  Then the run is judged by wall time alone, and the reader must know it first.

Hooks see the steps of torch's optimizers in the process that the launcher started.  They see nothing of a script that updates its
parameters by hand, trains in processes that it starts itself, or brings an optimizer that is none of torch's.  Each worker says why.
Cannot see: a worker that never imported torch itself.
"""

from __future__ import annotations

import polars as pl

from assay.estimates.format import count
from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.verdict.audits.support.audit import Audit
from assay.verdict.types import Finding


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """One warning per configuration whose launches have no steps although torch was imported."""
    told = measured.table("events").filter(pl.col("kind") == "steps_unseen")
    seen = measured.table("steps").select("launch").unique()
    why = pl.col("detail").str.json_path_match("$.why").alias("why")
    blind = measured.timed.join(told.select("launch", "rank", why), on="launch").join(seen, on="launch", how="anti")
    found = []
    for name in measured.configurations:
        own = blind.filter(pl.col("configuration") == name).sort("launch", "rank")
        if own.height:
            found.append(
                Finding(
                    rule="steps_unseen",
                    severity="warning",
                    configuration=name,
                    evidence=f"torch was imported and no training step was seen in {count(own['launch'].n_unique(), 'launches')}: {own['why'][0]}; "
                    "times are those of whole launches, start-up included",
                    remedy="let the launcher start the workers (no mp.spawn), step an optimizer of torch.optim, or mark the steps: probe.steps(loader)",
                )
            )
    return tuple(found)


AUDIT = Audit(
    name="unseen_steps",
    title="no step seen",
    question="Was torch imported and no step seen?",
    examine=examine,
    about=("training",),
    first=True,
)
