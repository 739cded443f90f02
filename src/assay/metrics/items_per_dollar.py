"""How much useful work does one dollar buy?

items_per_dollar = useful work / (workers x price x wall time) (METRICS.md, work_per_dollar): the inverse of
cost_per_item, value and interval alike, because both are formed on logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import transform
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import ITEMS_PER_USD


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """The inverse per configuration."""
    return {name: _inverse(results["cost_per_item"][name]) for name in measured.configurations}


def _inverse(cost: Value) -> Value:
    if isinstance(cost, Absent):
        return cost
    return transform(cost, _one_over, unit=ITEMS_PER_USD, name="items_per_dollar", how="1 / cost_per_item")


def _one_over(cost: float) -> float:
    return 1.0 / cost if cost > 0.0 else math.inf


METRIC = Metric(
    name="items_per_dollar",
    title="Items per dollar",
    unit=ITEMS_PER_USD,
    kind="rate",
    better="higher",
    dimension="cost",
    formula="useful work / cost",
    compute=compute,
    after=("cost_per_item",),
)
