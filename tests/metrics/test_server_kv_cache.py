"""server_kv_cache: the engine's own count, inside of the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.server_kv_cache import METRIC
from tests.serving_made import ServingMade


def test_replicas_are_taken_together_and_the_ramp_left_out() -> None:
    """Window [2, 9]: replica 0 reads 0.2 and 0.4 there, replica 1 0.5; before and after it 9."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main")
    for device, at_s, value in (("a", 1.0, 9.0), ("a", 3.0, 0.2), ("a", 5.0, 0.4), ("b", 4.0, 0.5), ("b", 9.5, 9.0)):
        made.reading(number, device, "kv_cache_used", value, at_s=at_s)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.4)


def test_an_engine_that_was_not_scraped_has_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "serving.targets" in value.detail
