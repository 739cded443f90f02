"""cost_per_effective_work: cost per step over efficiency."""

from __future__ import annotations

from typing import Any

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cost_per_effective_work import METRIC
from tests.handmade import Handmade


def value(v: float, low: float, high: float) -> Estimate:
    return Estimate(value=v, low=low, high=high, unit="u", confidence=0.95, n_launches=5, n_trials=5, method="m", signature="s")


def test_an_idle_half_doubles_the_cost_and_the_interval_takes_opposite_ends() -> None:
    results: dict[str, Any] = {
        "cost_per_step": {"workers=1": value(1.0, 1.0, 1.0), "workers=2": value(2.0, 1.8, 2.2)},
        "efficiency": {"workers=1": Absent(reason="undefined", detail="d"), "workers=2": value(0.5, 0.4, 0.6)},
    }
    found = METRIC.compute(Handmade().measured(), results)
    two = found["workers=2"]
    assert isinstance(two, Estimate)
    assert (two.value, two.low, two.high) == pytest.approx((4.0, 3.0, 5.5))
    assert isinstance(found["workers=1"], Absent)
