"""How many joules does one unit of useful work use, start-up included?

energy_per_item = energy of the launch / useful work (METRICS.md, energy_per_work).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.joules import energy_method, launch_joules, no_energy
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.useful_work import work_per_launch
from assay.units import JOULES_PER_ITEM


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Joules per item."""
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    work = work_per_launch(measured).rename({"value": "work"}).filter(pl.col("work") > 0)
    ratio = launch_joules(measured).join(work, on="launch").select("launch", (pl.col("value") / pl.col("work")).alias("value"))
    label = "MODELLED joules / useful work" if method == "modelled" else "counted joules / useful work"
    return from_frame(
        measured,
        ratio,
        unit=JOULES_PER_ITEM,
        name=f"energy_per_item|method:{method}",
        trials="",
        aggregate=label,
        missing="the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)",
    )


METRIC = Metric(
    name="energy_per_item",
    title="Energy of an item",
    unit=JOULES_PER_ITEM,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="energy / useful work",
    compute=compute,
)
