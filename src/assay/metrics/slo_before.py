"""Which share of the requests met every objective before the fault?

slo_before = requests that met every objective / requests that were due in the window and had ended when the fault struck,
in the fault launches; without objectives: that were answered.  Return: the replica answered probes again, else the fault
was undone, else the end of the load (`assay.frames.serving.outages`).  One fault launch has no interval: ask for more to have one.
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
    return attainment(measured, "slo_before", _part, "before")


def _part(outage: Outage) -> pl.DataFrame:
    return outage.before


METRIC = Metric(
    name="slo_before",
    title="Attainment before a fault",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="reliability",
    formula="requests that met every objective / requests before the fault",
    compute=compute,
    about=("serving",),
)
