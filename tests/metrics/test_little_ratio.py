"""little_ratio: both sides of Little's law."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.little_ratio import METRIC
from tests.serving_made import ServingMade, simulated


def test_it_is_one_where_requests_begin_and_end_inside() -> None:
    """Window [2, 9): 5 to 6 s and 7 to 8 s: 2 s under way, and latencies that sum to 2 s. That of 9 s is not in [2, 9)."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for due in (5.0, 7.0, 9.0):
        made.request(number, due, at_s=[1.0], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.0)


def test_a_growing_queue_is_above_one() -> None:
    """Due every second, the k-th takes k seconds: [0, 9) holds 2.5 x 9 ... of what they take in all."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), at_s=[1.0 + second], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    # latencies of those due in [0, 9): 1 + ... + 9 = 45; inside of the window: min(1 + k, 9 - k) = 1+2+3+4+5+4+3+2+1 = 25
    assert value.value == pytest.approx(45 / 25)


def test_a_stable_queue_is_near_one() -> None:
    value = METRIC.compute(simulated(rate=(10.0,), blocks=3, seconds=40.0, seed=4).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert abs(value.value - 1.0) < 0.02


def test_without_requests_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.launch()
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
