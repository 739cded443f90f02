"""ttft_visible_p50: the first text that is not reasoning."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.ttft_visible_p50 import METRIC
from tests.serving_made import ServingMade


def test_reasoning_is_not_visible() -> None:
    """Reasoning from 0.1 s, content from 0.4 s in every request."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for place in range(40):
            made.request(number, place * 0.1, at_s=[0.1, 0.2, 0.4, 0.5], kinds=[2, 2, 1, 1], tokens_out=4)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.4)


def test_answers_of_reasoning_alone_have_none() -> None:
    made = ServingMade(rate=(10.0,), blocks=1)
    number = made.launch()
    for place in range(4):
        made.request(number, place * 0.1, at_s=[0.1], kinds=[2], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "reasoning" in value.detail
