"""tokenize_time_p50: what a model in this process spends before its first token."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.tokenize_time_p50 import METRIC
from tests.serving_made import ServingMade


def test_it_is_the_median_of_the_requests_that_tell_it() -> None:
    """1 ... 300 ms in no order: the median is 150.5 ms."""
    made, times = ServingMade(rate=(10.0,), blocks=3), np.random.default_rng(3).permutation(300) + 1
    for block, own in enumerate(np.split(times, 3)):
        number = made.launch(block=block)
        for place, milliseconds in enumerate(own.tolist()):
            made.request(number, place * 0.2, tokenize_s=milliseconds / 1e3, ttft_s=1.0)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.1505)


def test_behind_a_server_it_does_not_apply() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert (value.reason, "in this process" in value.detail) == ("not_applicable", True)
