"""ttft_sent_p99: from sending, so blind to what waited in the client."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.ttft_sent_p99 import METRIC
from tests.serving_made import ServingMade


def test_what_waited_in_the_client_is_not_in_it() -> None:
    """Every request was sent 2 s late and answered 0.1 s after that."""
    made = ServingMade(rate=(100.0,), blocks=5)
    for block in range(5):
        number = made.launch(block=block)
        for place in range(600):
            made.request(number, place * 0.01, lag_s=2.0, ttft_s=2.1)
    value = METRIC.compute(made.measured(), {})["rate=100"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.1)


def test_answers_that_were_not_streamed_have_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, stream=False)
    made.request(made.launch(), 0.0)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
