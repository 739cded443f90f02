"""Are the losses numbers?

A loss that is no finite number at the end of a launch is a training that broke: its parameters are worthless.  One that was not finite for
some steps and is again is a warning: it may be a step that a gradient scaler skipped, or a batch that overflowed.
Gradients that overflow while the loss is finite are what a scaler of mixed precision looks for, and no finding.
Cannot see: a loss that nobody told and no backward pass began with.
"""

from __future__ import annotations

import polars as pl

from assay.estimates.format import count
from assay.frames.record_data import Measured, effective_steps
from assay.metrics.base import Results
from assay.verdict.audits.support.audit import Audit
from assay.verdict.types import Finding

RULE = "loss_not_finite"


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration at most."""
    rows = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    told = effective_steps(rows).join(measured.timed.select("launch", "configuration"), on="launch")
    told = told.with_columns(last=pl.col("step") == pl.col("step").max().over("launch", "rank"))
    broken = told.filter(~pl.col("value").is_finite()).sort("last", "launch", "step", "rank", descending=[True, False, False, False])
    return tuple(
        _finding(name, own, told) for name in measured.configurations if (own := broken.filter(pl.col("configuration") == name)).height
    )


def _finding(name: str, own: pl.DataFrame, told: pl.DataFrame) -> Finding:
    launch, at_the_end = int(own["launch"][0]), bool(own["last"].any())
    here = own.filter(pl.col("launch") == launch)
    step = int(here["step"].min())  # type: ignore[arg-type]
    first = here.filter(pl.col("step") == step).sort("rank").row(0, named=True)
    steps, of = here["step"].n_unique(), told.filter(pl.col("launch") == launch)["step"].n_unique()
    return Finding(
        rule=RULE,
        severity="fail" if at_the_end else "warning",
        configuration=name,
        evidence=f"the loss is {first['value']} on rank {first['rank']} in step {step} of launch {launch}, and no finite number in {steps} of "
        f"{count(of, 'steps')}{', the last among them' if at_the_end else ''} ({count(own['launch'].n_unique(), 'launches')} in all)",
        remedy="look for the first operation that overflows or divides by zero (torch.autograd.set_detect_anomaly); lower the learning rate, or clip"
        if at_the_end
        else "look at the batch of that step; where a gradient scaler skipped it, nothing is wrong",
    )


AUDIT = Audit(
    name="losses", title="losses that are no numbers", question="Are the losses finite numbers?", examine=examine, about=("training",)
)
