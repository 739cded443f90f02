"""How much useful work does one dollar buy?

items_per_dollar = useful work / (workers x price x wall time) (METRICS.md, work_per_dollar).
It charges a run for everything it was paid for, and credits it only with work that counted.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.base import Metric, Results
from assay.metrics.dollars import NO_PRICES, launch_usd, usd_per_worker_second
from assay.metrics.estimate import Absent, Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import from_frame
from assay.metrics.useful_work import work_per_launch
from assay.units import ITEMS_PER_USD


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
        measured, ratio.select("launch", (pl.col("work") / pl.col("value")).alias("value")), unit=ITEMS_PER_USD, name="items_per_dollar", trials="",
        missing="the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)",
        aggregate="useful work / cost",
    )  # fmt: skip


METRIC = Metric(
    name="items_per_dollar", title="Items per dollar", unit=ITEMS_PER_USD, better="higher", dimension="cost",
    formula="useful work / cost", compute=compute,
)  # fmt: skip
