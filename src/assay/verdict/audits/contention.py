"""Did something else use the machine while it was measured?

Foreign load = (busy - own processes - assay) / (busy + idle + steal) over a launch, and steal likewise, from the
meter's counters.  The launch's own load is left out: four workers on two cores are meant to be slow.  Randomised blocks
spread a disturbance over all configurations; it widens intervals rather than bending them, so this is a warning.
"""

from __future__ import annotations

import polars as pl

from assay.metrics.base import Results
from assay.metrics.measured import Measured
from assay.verdict.audits.base import Audit
from assay.verdict.types import Finding

MOST_FOREIGN = 0.10  # of the machine's processor time
MOST_STEAL = 0.02
MOST_THROTTLED = 0.01  # of the launch's wall time

_COUNTERS = {
    ("cpu", "busy"): "busy", ("cpu", "idle"): "idle", ("cpu", "steal"): "steal",
    ("launch", "cpu_time"): "own", ("coordinator", "cpu_time"): "assay", ("cgroup", "throttled"): "throttled",
}  # fmt: skip


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """One warning per kind of disturbance, with the launches it hit."""
    shares = load_shares(measured)
    if shares.height == 0:
        return (Finding(
            rule="contention_not_measured", severity="note", configuration=None,
            evidence="no host counters were recorded, so a disturbance by other programs would go unseen",
            remedy="run on Linux with a readable /proc",
        ),)  # fmt: skip
    kinds = (
        ("foreign", "foreign_load", MOST_FOREIGN, "other programs used up to {most:.0%} of the processors", "leave the machine to the experiment"),
        ("steal", "steal", MOST_STEAL, "the hypervisor took up to {most:.0%} of the processors", "use a machine that is not shared, or more launches"),
        ("throttled", "throttled", MOST_THROTTLED, "the control group's quota stopped the processes for up to {most:.0%} of a launch", "raise the CPU quota"),
    )  # fmt: skip
    return tuple(found for kind in kinds if (found := _finding(shares, *kind)) is not None)


def load_shares(measured: Measured) -> pl.DataFrame:
    """(launch, foreign, steal, throttled) as shares, for the timed launches with counters."""
    rows = measured.table("telemetry").with_columns(
        pl.concat_str("device", "counter", separator="/").replace_strict(
            {"/".join(key): value for key, value in _COUNTERS.items()}, default=None, return_dtype=pl.String
        ).alias("what")
    )  # fmt: skip
    spans = rows.filter(pl.col("what").is_not_null()).group_by("launch", "what").agg(
        (pl.col("value").max() - pl.col("value").min()).alias("span")
    )  # fmt: skip
    wide = (
        spans.pivot(on="what", index="launch", values="span")
        if spans.height
        else pl.DataFrame(schema={"launch": pl.Int32})
    )
    for name in _COUNTERS.values():
        if name not in wide.columns:
            wide = wide.with_columns(pl.lit(None, dtype=pl.Float64).alias(name))
    total = pl.col("busy") + pl.col("idle") + pl.col("steal").fill_null(0.0)
    foreign = (pl.col("busy") - pl.col("own") - pl.col("assay").fill_null(0.0)).clip(lower_bound=0.0) / total
    wall = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
    return (
        wide.join(measured.timed.select("launch", "begin_ns", "end_ns"), on="launch")
        .select("launch", foreign=foreign, steal=pl.col("steal") / total, throttled=pl.col("throttled") / wall)
        .filter(pl.col("foreign").is_not_null() | pl.col("steal").is_not_null())
        .sort("launch")
    )


def _finding(shares: pl.DataFrame, column: str, rule: str, limit: float, words: str, remedy: str) -> Finding | None:
    hit = shares.filter(pl.col(column) > limit)
    if hit.height == 0:
        return None
    most = float(hit[column].max())  # type: ignore[arg-type]
    named = ", ".join(str(launch) for launch in hit["launch"].to_list()[:8]) + (" ..." if hit.height > 8 else "")
    return Finding(
        rule=rule, severity="warning", configuration=None,
        evidence=f"{words.format(most=most)} in {hit.height} of {shares.height} timed launches (launches {named})", remedy=remedy,
    )  # fmt: skip


AUDIT = Audit(name="contention", question="Did something else use the machine?", examine=examine)
