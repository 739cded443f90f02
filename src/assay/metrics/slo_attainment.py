"""Which share of the requests met every objective?

slo_attainment = requests that met every objective / requests that were due (in a closed loop: sent), in the measured window (METRICS.md,
"Serving").  A failed, a refused and an unsent request met none.  Student t over launches, never narrower than independent
requests would have it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import no_objectives
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import counted
from assay.metrics.rates import all_of, shares, tally
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    if (why := no_objectives(measured)) is not None:
        return all_of(measured, why)
    return shares(
        measured,
        tally(counted(measured), pl.col("met")),
        name="slo_attainment",
        aggregate="requests that met every objective / requests due",
        missing="no request was due",
    )


METRIC = Metric(
    name="slo_attainment",
    title="Attainment of the objectives",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="requests that met every objective / requests due",
    compute=compute,
    about=("serving",),
    primary=True,
)
