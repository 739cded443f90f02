"""in_flight_mean: the mean number of requests under way."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.in_flight_mean import METRIC
from tests.serving_made import ServingMade


def test_it_is_the_area_inside_the_window() -> None:
    """Window [2, 9): the request from 1 to 4 s is inside for 2 s, 5 to 6 s for 1 s, 9 to 12 s not at all: 3/7."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    made.request(number, 1.0, phase="warm_up", at_s=[3.0], tokens_out=1)
    made.request(number, 5.0, status="reset", done_s=1.0)
    made.request(number, 9.0, at_s=[3.0], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(3 / 7)


def test_without_requests_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.launch()
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
