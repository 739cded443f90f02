"""Which share of the requests met every objective while the replica was away?

slo_during = requests that met every objective / requests that were due, or under way, between the fault and the struck
replica's return, in the fault launches; without objectives: that were answered.  Return: the replica answered probes again,
else the fault was undone, else the end of the load (`assay.frames.serving.outages`).  One fault launch has no interval: ask for
more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.outages import Outage, attainment
from assay.metrics.base import Metric, Results
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    return attainment(measured, "slo_during", _part, "during")


def _part(outage: Outage) -> pl.DataFrame:
    return outage.during


METRIC = Metric(
    name="slo_during",
    title="Attainment during a fault",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="reliability",
    formula="requests that met every objective / requests during the fault",
    compute=compute,
    about=("serving",),
)
