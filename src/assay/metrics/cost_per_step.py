"""What does one training step cost in steady state?

cost_per_step = workers x price x step_time.  Start-up is left out: compare cost for what a run costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import mul

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import transform
from assay.frames.prices import NO_PRICES, usd_per_worker_second
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import USD_PER_STEP


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """Dollars per step."""
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    found: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        step = results["step_time"][name]
        rate = level * price
        found[name] = (
            step
            if isinstance(step, Absent)
            else transform(step, partial(mul, rate), unit=USD_PER_STEP, name="cost_per_step", how="workers x price x step time")
        )
    return found


METRIC = Metric(
    name="cost_per_step",
    title="Cost of a step",
    unit=USD_PER_STEP,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="workers x price x step_time",
    compute=compute,
    after=("step_time",),
)
