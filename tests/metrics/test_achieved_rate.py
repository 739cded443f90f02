"""achieved_rate: requests sent over the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.achieved_rate import METRIC
from tests.serving_made import ServingMade


def test_what_was_sent_too_late_or_never_is_not_achieved() -> None:
    """Due at 0 ... 10 s; every fifth never sent, that of 8 s only 60 s later: sent in [0, 10) are 1-4, 6, 7, 9: 0.7/s."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(11):
        if second % 5 == 0:
            made.request(number, float(second), lag_s=None, status="unsent")
        else:
            made.request(number, float(second), lag_s=60.0 if second == 8 else 0.0, ttft_s=61.0)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.7)


def test_a_launch_that_sent_nothing_achieved_nothing() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, 0.0, lag_s=None, status="unsent")
    made.request(number, 1.0, lag_s=None, status="unsent")
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == 0.0
    assert not isinstance(value, Absent)
