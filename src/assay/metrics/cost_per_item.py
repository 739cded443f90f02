"""What does one unit of useful work cost, start-up included?

cost_per_item = workers x price x wall time / useful work (METRICS.md, cost_per_work).
It charges a run for everything it was paid for, and credits it only with work that counted.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.per_launch import from_frame
from assay.frames.prices import NO_PRICES, launch_usd, usd_per_worker_second
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.useful_work import work_per_launch
from assay.units import USD_PER_ITEM


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One ratio per launch, then over launches."""
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    if price == 0.0:
        free = Absent(reason="undefined", detail="the price is 0 dollars per worker-hour")
        return dict.fromkeys(measured.configurations, free)
    work = work_per_launch(measured).rename({"value": "work"})
    ratio = launch_usd(measured.timed, price).join(work, on="launch").filter(pl.col("work") > 0)
    return from_frame(
        measured,
        ratio.select("launch", (pl.col("value") / pl.col("work")).alias("value")),
        unit=USD_PER_ITEM,
        name="cost_per_item",
        trials="",
        missing="the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)",
        aggregate="cost / useful work",
    )


METRIC = Metric(
    name="cost_per_item",
    title="Cost of an item",
    unit=USD_PER_ITEM,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="cost / useful work",
    compute=compute,
)
