"""Did every sample have the same weight on whichever rank?

A mean of the ranks' means over unequal shards is not the mean over the samples: samples of a small shard weigh more. Reported denominators
are checked exactly; unreported ones through one worker's gradient. Without either, unequal shards are a note: averaging of this kind is
common, and the record does not show whether it happened.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import given
from fireassay.frames.record_data import RecordData, portions
from fireassay.frames.training.correctness.sample_weights import shares
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.training_faults import diagnose
from fireassay.verdict.types import Finding

RULE = "unequal_shards"


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration."""
    findings = [item.finding(name) for name, item in diagnose(measured).items() if item is not None and item.fault == RULE]
    named = {finding.configuration for finding in findings}
    return (*findings, *(item for item in _unreported(measured) if item.configuration not in named))


def _unreported(measured: RecordData) -> Iterator[Finding]:
    """Shards that are unequal in the first step, with neither a denominator nor a gradient as evidence."""
    reported = measured.table("fingerprints").filter(pl.col("what") == "denominator")["launch"].unique()
    kept = measured.table("gradients")["launch"].unique()
    known = pl.col("launch").is_in(reported.implode()) | pl.col("launch").is_in(kept.implode())
    launches = measured.timed.select("launch", "configuration", "workers").filter((pl.col("workers") > 1) & ~known)
    parts = [_spread(measured, some) for some in portions(measured, launches)]
    if not parts:
        return
    spread = pl.concat(parts).join(launches, on="launch").sort("launch", "step")
    for name in measured.configurations:
        rows = spread.filter(pl.col("configuration") == name)
        if rows.height and not why_not(measured, name, "gradients"):
            row = rows.row(0, named=True)
            evidence = (
                f"the ranks' shares are unequal in {rows.height} steps, first in step {row['step']} of launch {row['launch']} "
                f"({given(row['least'])} to {given(row['most'])} items); whether their samples have the same weight is unknown"
            )
            remedy = "report what the loss is divided by (probe.log(denominator=...)), or also measure one worker, whose gradient shows it"
            yield Finding("sample_weights_not_measured", "note", name, evidence, remedy)


def _spread(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, step, least, most): steps in which the ranks' item counts differ."""
    steps = shares(measured, launches.select("launch")).group_by("launch", "step")
    both = steps.agg(pl.col("items").min().alias("least"), pl.col("items").max().alias("most"))
    return both.filter(pl.col("least") < pl.col("most"))


AUDIT = Audit(
    name="sample_weights",
    title="unequal sample weights",
    question="Did every sample have the same weight?",
    examine=examine,
    about=("training",),
)
