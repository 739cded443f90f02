"""Which share of the requests met every objective once the replica was back?

slo_after = requests that met every objective / requests that were due after the struck replica had returned, in the fault
launches; without objectives: that were answered.  Return: the replica answered probes again, else the fault was undone,
else the end of the load (`assay.metrics.outages`).  One fault launch has no interval: ask for more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.base import Metric, Results
from assay.metrics.estimate import Value
from assay.metrics.measured import Measured
from assay.metrics.outages import Outage, attainment
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    return attainment(measured, "slo_after", _part, "after")


def _part(outage: Outage) -> pl.DataFrame:
    return outage.after


METRIC = Metric(
    name="slo_after", title="Attainment after a fault", unit=FRACTION, kind="ratio", better="higher", dimension="reliability",
    formula="requests that met every objective / requests after the fault", compute=compute, about=("serving",),
)  # fmt: skip
