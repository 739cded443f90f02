"""What did the whole experiment cost, failed, aborted and fault launches included?

cost_total = sum over all launches of workers x price x wall time.  An exact sum: every launch was paid for.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.estimates.over_launches import exact
from assay.frames.prices import NO_PRICES, launch_usd, usd_per_worker_second
from assay.frames.record_data import Measured
from assay.metrics.base import ALL, EVERYTHING, Metric, Results
from assay.units import USD


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Dollars for everything that was started."""
    price = usd_per_worker_second(measured)
    if price is None:
        return {ALL: NO_PRICES}
    launches = measured.table("launches").sort("launch")
    total = float(launch_usd(launches, price)["value"].sum())
    return {
        ALL: exact(
            total,
            unit=USD,
            name="cost_total",
            n_launches=launches.height,
            n_trials=launches.height,
            how="sum over all launches, failed and fault launches included",
        )
    }


METRIC = Metric(
    name="cost_total",
    title="Cost of the whole experiment",
    unit=USD,
    kind="cost",
    better="lower",
    dimension="cost",
    formula="sum over launches of workers x price x wall_time",
    compute=compute,
    about=EVERYTHING,
)
