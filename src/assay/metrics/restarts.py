"""How often were the workers restarted?

restarts = the highest incarnation that any rank of a fault launch reached, over the whole job: an engine's own counter may hold for
one node alone (pytorch#108158, #135712), so what every rank said of itself is taken.  The most of any fault launch; exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.recovery import NO_FAULT, struck_launches
from assay.metrics.base import Metric, Results
from assay.units import COUNT

HOW = "highest incarnation of any rank; most of any fault launch"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Restarts per configuration."""
    launches = struck_launches(measured)
    seen = (
        measured.table("events").filter(pl.col("kind") == "worker_start").group_by("launch").agg(pl.col("incarnation").max().alias("seen"))
    )
    most = launches.join(seen, on="launch", how="left").with_columns(most=pl.max_horizontal("restarts", "seen"))
    found: dict[str, Value] = {}
    for name in measured.configurations:
        own = most.filter(pl.col("configuration") == name)["most"].to_list()
        found[name] = (
            exact(float(max(own)), unit=COUNT, name="restarts", n_launches=len(own), n_trials=len(own), how=HOW) if own else NO_FAULT
        )
    return found


METRIC = Metric(
    name="restarts",
    title="Restarts",
    unit=COUNT,
    kind="count",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
    about=("training",),
)
