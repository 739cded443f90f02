"""How many requests did a fault cost, and how did they end?

requests_lost = requests of the measured window that failed after the fault had struck, those under way then included, per
fault launch.  The method names the classes and the replicas.  Late answers are not lost: slo_during counts them.  It cannot
tell failures that would have come without the fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Value
from assay.estimates.over_launches import average, exact
from assay.frames.record_data import Measured
from assay.frames.serving.outages import NO_FAULT, Outage, outages
from assay.metrics.base import Metric, Results
from assay.metrics.failures import classes
from assay.units import REQUESTS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The number per configuration."""
    every = outages(measured)
    found: dict[str, Value] = {}
    for name in measured.configurations:
        own = [outage for outage in every if outage.configuration == name]
        found[name] = _number(measured, own) if own else NO_FAULT
    return found


def _number(measured: Measured, own: Sequence[Outage]) -> Value:
    lost = [float(outage.lost.height) for outage in own]
    rows = pl.concat([outage.lost for outage in own])
    due = sum(outage.requests.height for outage in own)
    how = f"{len(own)} fault launches, by class: {classes(rows)}; by replica: {_replicas(rows)}"
    if len(set(lost)) == 1:
        return exact(lost[0], unit=REQUESTS, name="requests_lost", n_launches=len(own), n_trials=due, how=f"counted in {how}")
    made = average(lost, measured.confidence, unit=REQUESTS, aggregate="failed requests", name="requests_lost", n_trials=due)
    return replace(made, low=max(0.0, made.low), method=f"{made.method}; {how}")


def _replicas(rows: pl.DataFrame) -> str:
    counts = rows["replica"].value_counts().sort("count", "replica", descending=[True, False])
    return ", ".join(f"{number} {'never sent' if replica is None else replica}" for replica, number in counts.iter_rows()) or "none"


METRIC = Metric(
    name="requests_lost",
    title="Requests lost",
    unit=REQUESTS,
    kind="count",
    better="lower",
    dimension="reliability",
    formula="requests that failed after the fault had struck",
    compute=compute,
    about=("serving",),
)
