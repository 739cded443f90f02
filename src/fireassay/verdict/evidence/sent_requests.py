"""What happened to the requests of a load?

Shared queries on the tables `arrivals` and `requests`. The measured part of a load is phase `main`: requests due after the warm-up. A
launch's load begins at its event `load_begin`; nothing becomes due later than warm_up_s + duration_s after it.
"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.client_clocks import losses
from fireassay.spec.plan import measured_seconds, plan
from fireassay.spec.sections.serving import Serving
from fireassay.units import NS_PER_S


def serving_of(measured: RecordData) -> Serving:
    """The serving section; only for records of serving."""
    assert measured.experiment.serving is not None
    return measured.experiment.serving


def requests_of(measured: RecordData, *columns: str, role: str | None = "timed", **folded: pl.Expr) -> pl.DataFrame:
    """(launch, configuration, role, request, phase, *columns) of the requests of successful launches; role None: every role.

    folded: further columns, computed before the join so that list columns need not be copied.
    """
    launches = measured.table("launches").filter(pl.col("status") == "ok")
    if role is not None:
        launches = launches.filter(pl.col("role") == role)
    wanted = dict.fromkeys(("launch", "request", "phase", *columns))
    requests = measured.table("requests").select(*wanted, **folded)  # before the join: lists of chunk times are large
    return requests.join(launches.select("launch", "configuration", "role"), on="launch")


def main(measured: RecordData, *columns: str, **folded: pl.Expr) -> pl.DataFrame:
    """`requests_of` in the measured part of the timed launches, which ends where a client was lost with its host."""
    lost = losses(measured.tables)
    wanted = columns if lost.height == 0 or "scheduled_ns" in columns else (*columns, "scheduled_ns")
    rows = requests_of(measured, *wanted, role="timed", **folded).filter(pl.col("phase") == "main")
    if lost.height:
        rows = rows.join(lost, on="launch", how="left", maintain_order="left")
        rows = rows.filter(pl.col("lost_ns").is_null() | (pl.col("scheduled_ns") < pl.col("lost_ns"))).drop("lost_ns")
    return rows


def planned(measured: RecordData, *columns: str) -> pl.DataFrame:
    """(launch, request, *columns) of the arrivals."""
    return measured.table("arrivals").select(list(dict.fromkeys(("launch", "request", *columns))))


def begins(measured: RecordData) -> pl.DataFrame:
    """(launch, load_ns): when each launch's load began."""
    events = measured.table("events").filter(pl.col("kind") == "load_begin")
    return events.group_by("launch").agg(pl.col("ns").min().alias("load_ns"))


def lengths(measured: RecordData) -> pl.DataFrame:
    """(launch, length_ns): how long requests became due in each launch, warm-up included; longer with an injected fault."""
    warm_up_s = serving_of(measured).arrivals.warm_up_s
    known = {launch_plan.slot: warm_up_s + measured_seconds(measured.experiment, launch_plan) for launch_plan in plan(measured.experiment)}
    rows = measured.table("launches").select("launch", "slot").iter_rows()
    lengths_ns = [(launch, round(known[slot] * NS_PER_S) if slot in known else length_ns(measured)) for launch, slot in rows]
    return pl.DataFrame(lengths_ns, schema={"launch": pl.Int32, "length_ns": pl.Int64}, orient="row")


def length_ns(measured: RecordData) -> int:
    """How long requests become due in a timed launch, in nanoseconds, warm-up included."""
    arrivals = serving_of(measured).arrivals
    return round((arrivals.warm_up_s + arrivals.duration_s) * NS_PER_S)


def seconds(column: str, since: str) -> pl.Expr:
    """Seconds between two nanosecond columns."""
    return (pl.col(column) - pl.col(since)) / NS_PER_S


def number(values: pl.Series) -> float | None:
    """The median of a series; None if empty."""
    median = values.median()
    return float(median) if isinstance(median, int | float) else None
