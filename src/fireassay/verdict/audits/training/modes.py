"""Did all ranks train in training mode?

A rank left in evaluation mode (`model.eval()` without a later `model.train()`) applies no dropout and normalises by running statistics: its
gradients belong to another model. If no layer depends on the mode, it is a note. The mode is read just before an optimizer step, in sampled
steps (`instruments/fingerprints/later_gradients.py`). Cannot tell: modes in between.
"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.gradient_faults import legitimate
from fireassay.verdict.types import Finding

RULE = "mode_differs_by_rank"


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration with a rank in another mode."""
    rows = effective_steps(measured.table("fingerprints").filter(pl.col("what") == "mode"))
    joined = rows.join(measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers"), on="launch")
    key = ("launch", "step")
    several = (pl.col("text").n_unique().over(key) > 1) | (pl.col("value").n_unique().over(key) > 1)
    apart = joined.filter(several & (pl.col("rank").n_unique().over(key) == pl.col("workers"))).sort("launch", "step", "rank")
    return tuple(
        _finding(measured, name, group) for name, group in by_configuration(measured, apart) if not why_not(measured, name, "replicas")
    )


def _finding(measured: RecordData, name: str, rows: pl.DataFrame) -> Finding:
    launch, step = int(rows["launch"][0]), int(rows["step"][0])
    here = rows.filter((pl.col("launch") == launch) & (pl.col("step") == step))
    ranks = here.group_by("text", maintain_order=True).agg("rank")
    modes = "; ".join(f"rank{'s' if len(of) > 1 else ''} {', '.join(map(str, of))}: {text}" for text, of in ranks.iter_rows())
    layers = legitimate(measured, name)
    evidence = f"ranks train in different modes in step {step} of launch {launch} ({modes}); {layers or 'no layer of the model depends on the mode'}"
    remedy = "call model.train() on every rank after an evaluation, before the next training step"
    return Finding(RULE, "fail" if layers else "note", name, evidence, remedy)


AUDIT = Audit(
    name="modes", title="a rank in another mode", question="Did all ranks train in the same mode?", examine=examine, about=("training",)
)
