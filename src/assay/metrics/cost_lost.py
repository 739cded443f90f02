"""How many dollars does one fault cost?

cost_lost = lost rank-seconds x price, per fault launch (METRICS.md: cost includes failed time).  Lost are detection, restart, reload and
the steps that were done again, on every rank, and what a fault that lasted added to the steps (`assay.metrics.lost_time`).
Cannot tell: how often faults happen; multiply by that.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.prices import NO_PRICES, usd_per_worker_second
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.lost_time import lost_seconds, per_configuration
from assay.units import USD

HOW = "lost rank-seconds x price of a worker"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Dollars per fault."""
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    return per_configuration(measured, lost_seconds(measured), lambda row: row["value"] * price, unit=USD, name="cost_lost", how=HOW)


METRIC = Metric(
    name="cost_lost",
    title="Cost of a fault",
    unit=USD,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
    about=("training",),
)
