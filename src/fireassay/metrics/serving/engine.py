"""What do the engine's own gauges report, and do replicas share the load evenly?

Gauges are scraped from the engine's Prometheus page (serving.targets[].metrics): the mean over the readings within the measured window
of each replica, then summed or averaged over replicas, then over launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.serving.pooled import quotients, windows
from fireassay.units import FRACTION, RATIO, REQUESTS

ENGINE = partial(Metric, dimension="performance", about=("serving",))
ROUTED: Final = Absent("not_measured", "a router distributes the requests, and which replica got which was not recorded")
NOT_SCRAPED: Final = "the engine's own counters were not read; set serving.targets[].metrics, for example http://127.0.0.1:8000/metrics"
BETWEEN: Final = "It cannot tell what happened between two readings."


def _gauge(name: str, counter: str, unit: str, together: Literal["sum", "mean"], **declared: Any) -> Metric:
    """Mean of a gauge's readings in the window per device, the devices summed or averaged, then over launches."""

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        return quotients(
            measured,
            _readings(measured, counter, together),
            unit=unit,
            name=name,
            aggregate=f"mean reading of {counter} in the window",
            missing=NOT_SCRAPED,
            trials="readings",
        )

    formula = f"mean reading of {counter} in the window"
    return ENGINE(name=name, unit=unit, kind="level", better="neither", formula=formula, compute=compute, **declared)


def _readings(measured: RecordData, counter: str, together: Literal["sum", "mean"]) -> pl.DataFrame:
    readings = measured.table("telemetry").filter(pl.col("counter") == counter)
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    within_window = readings.join(bounds, on="launch").filter((pl.col("ns") >= pl.col("begin_ns")) & (pl.col("ns") <= pl.col("end_ns")))
    per_device = within_window.group_by("launch", "host", "device").agg(pl.col("value").mean(), pl.len().alias("readings"))
    value = pl.col("value").sum() if together == "sum" else pl.col("value").mean()
    return per_device.group_by("launch").agg(value.alias("above"), pl.col("readings").sum(), pl.lit(1.0).alias("below"))


def _imbalance(measured: RecordData, _: Results) -> Mapping[str, Value]:
    serving = measured.experiment.serving
    if serving is not None and any(target.router for target in serving.targets):
        return dict.fromkeys(measured.configurations, ROUTED)
    sent = measured.counted_requests.filter(pl.col("replica").is_not_null())
    per_replica = sent.group_by("launch", "replica").agg(pl.len().cast(pl.Float64).alias("sent"))
    rows = per_replica.group_by("launch").agg(pl.col("sent").max().alias("most"), pl.col("sent").sum().alias("below"))
    shared = rows.join(measured.timed.select("launch", "workers"), on="launch").filter(pl.col("workers") > 1)
    return quotients(
        measured,
        shared.select("launch", (pl.col("most") * pl.col("workers")).alias("above"), "below"),
        unit=RATIO,
        name=REPLICA_IMBALANCE.name,
        aggregate="requests of the replica that got most x replicas / requests",
        missing="a single replica gets every request",
        trials="below",
    )


REPLICA_IMBALANCE: Final = ENGINE(
    name="replica_imbalance",
    title="Imbalance of replicas",
    unit=RATIO,
    kind="ratio",
    better="lower",
    formula="requests of the replica that got most / mean over replicas",
    question="How unevenly was the load distributed over the replicas?",
    caveat="1 is even; the number of replicas means all went to one. Unknown behind a router, because only the router is visible.",
    compute=_imbalance,
    rank=380,
)
METRICS = (
    REPLICA_IMBALANCE,
    _gauge(
        "server_kv_cache",
        "kv_cache_used",
        FRACTION,
        "mean",
        title="Use of the KV cache",
        question="How full was the engine's KV cache, by its own count?",
        caveat=f"Near 1 the engine preempts or queues requests. {BETWEEN}",
        rank=381,
    ),
    _gauge(
        "server_running",
        "requests_running",
        REQUESTS,
        "sum",
        title="Requests in the engine's batch",
        question="How many requests did the engine work on at a time, by its own count?",
        caveat=f"Compare in_flight_mean: the difference waits in the network, the proxy or the client. {BETWEEN}",
        rank=382,
    ),
    _gauge(
        "server_waiting",
        "requests_waiting",
        REQUESTS,
        "sum",
        title="Requests in the engine's queue",
        question="How many requests waited inside the engine, by its own count?",
        caveat=f"A queue that grows during the window means that the load exceeds the engine's capacity. {BETWEEN}",
        rank=383,
    ),
)
