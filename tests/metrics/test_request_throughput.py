"""request_throughput: answers that ended inside the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.request_throughput import METRIC
from tests.serving_made import ServingMade


def test_ramp_and_drain_are_outside() -> None:
    """Due every second from 0 to 9 s, answered 1.5 s later: answers at 2.5 ... 8.5 s end in [2, 9): 7 in 7 s."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main", at_s=[1.5], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.0)


def test_failures_are_no_answers() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(9):
        made.request(number, float(second), status="5xx" if second % 2 else "ok", at_s=[0.5] if second % 2 == 0 else None)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4 / 8)  # 0.5, 2.5, 4.5 and 6.5 s in [0, 8)


def test_a_failed_launch_has_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.launch(status="failed")
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
