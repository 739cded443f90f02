"""send_lag_p99: how late the client sent, whatever became of the request."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.send_lag_p99 import METRIC
from tests.serving_made import ServingMade


def test_failed_requests_lag_too_and_connecting_is_no_lag() -> None:
    """Lags of 1 ... 3000 us dealt out at random after 5 ms of connecting; every second request fails."""
    made, lags = ServingMade(rate=(100.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, own in enumerate(np.split(lags, 5)):
        number = made.launch(block=block)
        for place, microseconds in enumerate(own.tolist()):
            status = "5xx" if place % 2 else "ok"
            made.request(number, place * 0.01, lag_s=0.005 + microseconds / 1e6, connect_s=0.005, status=status)
    value = METRIC.compute(made.measured(), {})["rate=100"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((1 + 0.99 * 2999) / 1e6)


def test_what_was_never_sent_has_no_lag() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), lag_s=None, status="unsent")
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "was sent" in value.detail


def test_a_request_on_a_connection_that_was_opened_for_another_was_not_sent_early() -> None:
    """Sent 1 ms after it was due, on a new connection that had taken 20 ms: it waited for none of them."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), lag_s=0.001, connect_s=0.020)
    assert made.measured().served.requests["lag_s"].to_list() == [0.0, 0.0, 0.0]
