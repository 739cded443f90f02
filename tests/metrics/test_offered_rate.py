"""offered_rate: requests due over the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.offered_rate import METRIC
from tests.serving_made import ServingMade


def test_equal_gaps_give_their_rate_exactly() -> None:
    """Every 0.1 s from 2.0 to 9.9 s: 79 in [2.0, 9.9), 7.9 s long."""
    made = ServingMade(rate=(10.0,), blocks=2, warm_up_s=2.0)
    for block in range(2):
        number = made.launch(block=block)
        for place in range(100):
            phase = "warm_up" if place < 20 else "main"
            made.request(number, place / 10, phase=phase, status="5xx" if place % 3 else "ok")
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == pytest.approx((10.0, 10.0, 10.0))


def test_a_single_request_gives_no_rate() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert value.reason == "insufficient"
