"""Did the replicas share the load, and are they equally fast?

In most launches of a configuration: the busiest replica got more than 1.25 times its even share (with at least 20 requests each), or the
slowest replica's median time to first text is more than 1.5 times the fastest's. A warning either way: latency then depends on the replica,
and the whole is slower than its best part. With balance = "session" shares need not be even, and with "least_in_flight" a slow replica
rightly gets less; only times are checked then. Cannot tell: what a router behind a single address does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.plan import targets_of
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import main, seconds, serving_of
from fireassay.verdict.types import Finding

BUSIEST: Final = 1.25
SLOWEST: Final = 1.5
FEWEST: Final = 20  # requests per replica


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and kind."""
    even = {target.name for target in targets_of(serving_of(measured)) if target.balance == "round_robin"}
    engines = {configuration.name: configuration.target for configuration in measured.varied}
    return tuple(
        f
        for name, rows in by_configuration(measured, _launches(measured))
        for f in (*(_uneven(name, rows) if engines[name] in even else ()), *_unequal(name, rows))
    )


def _launches(measured: RecordData) -> pl.DataFrame:
    """Per timed launch with several replicas: busiest (requests / even share), slowest (median / fastest median)."""
    routed = {target.name for target in targets_of(serving_of(measured)) if target.router}  # only the router is visible
    replicas = {one.name: 1 if one.target in routed else one.workers for one in measured.varied}
    sent = main(measured, "replica", "sent_ns", "first_token_ns", "done_ns", "status").filter(pl.col("replica").is_not_null())
    seen = sent.with_columns(pl.col("first_token_ns").fill_null(pl.col("done_ns")).alias("seen_ns"))
    each = seen.group_by("launch", "configuration", "replica").agg(
        pl.len().alias("sent"), seconds("seen_ns", "sent_ns").filter(pl.col("status") == "ok").median().alias("first")
    )
    folded = (
        each.sort("replica")
        .group_by("launch", "configuration")
        .agg(
            pl.col("sent").sum().alias("whole"),
            pl.col("sent").max().alias("most"),
            pl.col("replica").get(pl.col("sent").arg_max()).alias("who"),
            (pl.col("first").max() / pl.col("first").min()).alias("slowest"),
            pl.len().alias("seen"),
            pl.col("replica").get(pl.col("first").arg_max()).alias("slow"),
        )
    )
    known = pl.DataFrame({"configuration": list(replicas), "replicas": list(replicas.values())})
    joined = folded.join(known, on="configuration").filter((pl.col("replicas") > 1) & (pl.col("whole") >= FEWEST * pl.col("replicas")))
    return joined.with_columns((pl.col("most") * pl.col("replicas") / pl.col("whole")).alias("busiest")).sort("launch")


def _uneven(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    uneven = rows.filter(pl.col("busiest") > BUSIEST)
    if uneven.height == 0 or not most(uneven.height, rows.height):
        return
    worst = uneven.sort("busiest").row(-1, named=True)
    evidence = (
        f"replica {worst['who']} was sent {given(worst['busiest'], 3)} times its even share ({worst['most']:,} of {worst['whole']:,} requests; "
        f"{uneven.height} of {count(rows.height, 'launches')}, {in_launches(uneven['launch'])})"
    )
    remedy = "find out why the others took less: a replica that was not ready, or connections that stick to one"
    yield Finding("replicas_uneven", "warning", name, evidence, remedy)


def _unequal(name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    unequal = rows.filter((pl.col("slowest") > SLOWEST) & (pl.col("seen") > 1))
    if unequal.height == 0 or not most(unequal.height, rows.height):
        return
    worst = unequal.sort("slowest").row(-1, named=True)
    evidence = (
        f"replica {worst['slow']} takes {given(worst['slowest'], 3)} times as long to its first text as the fastest one "
        f"({unequal.height} of {count(rows.height, 'launches')}, {in_launches(unequal['launch'])})"
    )
    yield Finding("replicas_unequal", "warning", name, evidence, "check what that replica shares its processors or its device with")


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with one replica or too few requests."""
    return None if _launches(measured).height else f"no launch sent {FEWEST} requests to each of several replicas"


AUDIT = Audit(
    name="replica_imbalance",
    title="uneven replicas",
    question="Did the replicas share the load, and are they equally fast?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
