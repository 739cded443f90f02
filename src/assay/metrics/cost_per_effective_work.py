"""What does a step cost, if the part of the machines that did nothing useful is charged to the useful part?

cost_per_effective_work = cost_per_step / efficiency (METRICS.md, "Cost, energy").  The interval divides the ends of
the two intervals and is therefore wider than needed: the two come from the same launches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.estimates.estimate import Absent, Estimate, Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import USD_PER_STEP


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """Dollars per effective step."""
    return {name: _one(results["cost_per_step"][name], results["efficiency"][name]) for name in measured.configurations}


def _one(cost: Value, efficiency: Value) -> Value:
    if isinstance(cost, Absent):
        return cost
    if isinstance(efficiency, Absent):
        return efficiency
    return Estimate(
        value=cost.value / efficiency.value,
        low=cost.low / efficiency.high,
        high=cost.high / efficiency.low if 0.0 < efficiency.low < math.inf else math.inf,
        unit=USD_PER_STEP,
        confidence=cost.confidence,
        n_launches=cost.n_launches,
        n_trials=cost.n_trials,
        method="ends of the cost interval divided by the opposite ends of the efficiency interval (conservative)",
        signature=f"cost_per_effective_work|of:{cost.signature}|over:{efficiency.signature}",
    )


METRIC = Metric(
    name="cost_per_effective_work",
    title="Cost of an effective step",
    unit=USD_PER_STEP,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="cost_per_step / efficiency",
    compute=compute,
    after=("cost_per_step", "efficiency"),
)
