"""Did every rank report its steps, and equally many?

If only rank 0 uses the probe, or ranks lost their streams, the slowest recorded rank need not be the slowest, items cover one rank only,
and goodput is too low. On several nodes a record holds this node's ranks. Ranks that report unequal numbers of steps (uneven shards, a
skipped step) are named too: in a step that a rank lacks, its samples are missing from the average, or the others average without it.
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
    """One warning per configuration in which ranks are missing from the steps."""
    seen = measured.table("steps").group_by("launch").agg(pl.col("rank").n_unique().alias("ranks"))
    nodes = measured.experiment.launcher.nodes
    here = measured.timed.join(seen, on="launch").with_columns(expected=pl.col("workers") // nodes)
    short = here.filter(pl.col("ranks") < pl.col("expected"))
    for name, rows in by_configuration(measured, short.sort("launch")):
        launch, ranks, expected = rows.select("launch", "ranks", "expected").row(0)
        evidence = (
            f"{ranks} of {count(expected, 'ranks')} reported steps in launch {launch} ({count(rows.height, 'launches')} in all); "
            "items, the slowest rank and goodput are those of the reporting ranks"
        )
        remedy = "start the probe and mark the steps on every rank, not on rank 0 alone"
        yield Finding("ranks_missing", "warning", name, evidence, remedy)
    yield from _uneven(measured)


def _uneven(measured: RecordData) -> Iterator[Finding]:
    """One warning per configuration with unequal step counts between ranks."""
    steps = measured.effective_steps.group_by("launch", "rank").agg(pl.col("step").n_unique())
    spread = steps.sort("step", "rank").group_by("launch", maintain_order=True)
    least = spread.agg(pl.col("rank").first(), pl.col("step").first().alias("least"), pl.col("step").last().alias("most"))
    uneven = measured.timed.join(least, on="launch").filter(pl.col("least") < pl.col("most"))
    for name, rows in by_configuration(measured, uneven.sort("launch")):
        launch, rank, fewest, most = rows.select("launch", "rank", "least", "most").row(0)
        evidence = (
            f"rank {rank} made {fewest} steps in launch {launch}, where another made {most} ({count(rows.height, 'launches')} in all)"
        )
        remedy = "give every rank equally many batches: a sampler that divides evenly, or that drops the rest (drop_last)"
        yield Finding("uneven_steps", "warning", name, evidence, remedy)


AUDIT = Audit(name="ranks_reporting", title="missing ranks", question="Did every rank report its steps, and equally many?", examine=examine)
