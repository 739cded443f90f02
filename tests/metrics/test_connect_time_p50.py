"""connect_time_p50: the set-up of new connections."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.connect_time_p50 import METRIC
from tests.serving_made import ServingMade


def test_only_new_connections_count() -> None:
    """Set-ups of 1 ... 300 ms on every second request: the median is 150.5 ms."""
    made, times = ServingMade(rate=(10.0,), blocks=3), np.random.default_rng(2).permutation(300) + 1
    for block, own in enumerate(np.split(times, 3)):
        number = made.launch(block=block)
        for place, milliseconds in enumerate(own.tolist()):
            made.request(number, place * 0.2, connect_s=milliseconds / 1e3, lag_s=0.5, ttft_s=1.0)
            made.request(number, place * 0.2 + 0.1)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.1505)


def test_kept_connections_have_no_set_up() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "kept alive" in value.detail
