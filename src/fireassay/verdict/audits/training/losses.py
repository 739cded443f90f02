"""Are the losses finite?

A non-finite loss at the end of a launch means that training failed: its parameters are worthless. A loss that recovers is a warning: a step
skipped by a gradient scaler, or a batch that overflowed. Gradients that overflow under a finite loss are routine for mixed-precision
scalers and no finding. Cannot tell: a loss that was neither reported nor the start of a backward pass.
"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.types import Finding

RULE = "loss_not_finite"


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration."""
    rows = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    losses = effective_steps(rows).join(measured.timed.select("launch", "configuration"), on="launch")
    losses = losses.with_columns(last=pl.col("step") == pl.col("step").max().over("launch", "rank"))
    broken = losses.filter(~pl.col("value").is_finite()).sort("last", "launch", "step", "rank", descending=[True, False, False, False])
    return tuple(_finding(name, group, losses) for name, group in by_configuration(measured, broken))


def _finding(name: str, rows: pl.DataFrame, losses: pl.DataFrame) -> Finding:
    launch, at_the_end = int(rows["launch"][0]), bool(rows["last"].any())
    here = rows.filter(pl.col("launch") == launch)
    step = int(here["step"].min())  # type: ignore[arg-type]
    first = here.filter(pl.col("step") == step).sort("rank").row(0, named=True)
    steps, of = here["step"].n_unique(), losses.filter(pl.col("launch") == launch)["step"].n_unique()
    evidence = (
        f"the loss is {first['value']} on rank {first['rank']} in step {step} of launch {launch}, and not finite in {steps} of "
        f"{count(of, 'steps')}{', including the last' if at_the_end else ''} ({count(rows['launch'].n_unique(), 'launches')} in all)"
    )
    remedy = (
        "find the first operation that overflows or divides by zero (torch.autograd.set_detect_anomaly); lower the learning rate, or clip"
        if at_the_end
        else "check the batch of that step; if a gradient scaler skipped it, nothing is wrong"
    )
    return Finding(RULE, "fail" if at_the_end else "warning", name, evidence, remedy)


AUDIT = Audit(name="losses", title="non-finite losses", question="Are the losses finite?", examine=examine, about=("training",))
