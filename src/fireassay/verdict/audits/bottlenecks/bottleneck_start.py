"""How much of a launch passes before it trains?

init and compile of `fireassay.frames.training.rank_time`: imports, rendezvous, building the model, and the excess of first steps over a usual
one. A note if that is at least a fifth of the paid time of the timed launches. Experiments launch briefly on purpose, so the note gives the
job length at which it becomes negligible.
"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.metrics.training.faults import partition
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

LEAST_SHARE, TO_FORGET = 0.20, 0.02  # of the paid time; the share that is negligible
KNOB = "longer jobs, a cache for compiled graphs and kernels, fewer imports, local data"


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per worker count with a long start."""
    if measured.table("steps").height == 0:
        return ()
    parts = partition(measured, "timed").with_columns(whole=pl.col("workers") * pl.col("wall_s"))
    sums = parts.group_by("configuration").agg(pl.col("init", "compile", "whole").sum(), pl.len())
    by_configuration = {row["configuration"]: row for row in sums.iter_rows(named=True)}
    return tuple(finding for name in measured.configurations if name in by_configuration for finding in _one(name, by_configuration[name]))


def _one(name: str, row: dict[str, float]) -> tuple[Finding, ...]:
    begun = row["init"] + row["compile"]
    if row["whole"] <= 0.0 or begun / row["whole"] < LEAST_SHARE:
        return ()
    each = row["whole"] / row["len"]
    enough = each * (begun / row["whole"]) / TO_FORGET
    evidence = (
        f"{begun / row['whole']:.0%} of the paid time passes before a launch trains at its usual speed "
        f"(start {row['init'] / row['whole']:.0%}, first steps {row['compile'] / row['whole']:.0%}); the share falls below "
        f"{TO_FORGET:.0%} once a job takes {enough:,.0f} rank-seconds instead of {each:,.0f}"
    )
    return (Finding("bottleneck_start", "note", name, evidence, KNOB),)


AUDIT = Audit(
    name="bottleneck_start",
    title="slow start-up",
    question="How much of a launch passes before it trains?",
    examine=examine,
    about=("training",),
)
