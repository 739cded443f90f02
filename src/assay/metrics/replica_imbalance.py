"""How unevenly was the load shared out over the replicas?

replica_imbalance = requests sent to the replica that got most / mean over replicas, of those that were due in the measured
window: 1 is even, the number of replicas is all to one.  Behind a router, which shares out by itself, it cannot tell
anything: only the router is seen.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import counted
from assay.metrics.rates import all_of, quotients
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The ratio per configuration."""
    serving = measured.experiment.serving
    if serving is not None and any(target.router for target in serving.targets):
        return all_of(measured, ROUTED)
    sent = counted(measured).filter(pl.col("replica").is_not_null())
    per_replica = sent.group_by("launch", "replica").agg(pl.len().cast(pl.Float64).alias("sent"))
    rows = per_replica.group_by("launch").agg(pl.col("sent").max().alias("most"), pl.col("sent").sum().alias("below"))
    shared = rows.join(measured.timed.select("launch", "workers"), on="launch").filter(pl.col("workers") > 1)
    return quotients(
        measured,
        shared.select("launch", (pl.col("most") * pl.col("workers")).alias("above"), "below"),
        unit=RATIO,
        name="replica_imbalance",
        aggregate="requests of the replica that got most x replicas / requests",
        missing="one replica gets everything",
        trials="below",
    )


ROUTED = Absent(reason="not_measured", detail="a router shares the requests out, and which replica got which is not seen")


METRIC = Metric(
    name="replica_imbalance",
    title="Imbalance of replicas",
    unit=RATIO,
    kind="ratio",
    better="lower",
    dimension="performance",
    formula="requests of the replica that got most / mean over replicas",
    compute=compute,
    about=("serving",),
)
