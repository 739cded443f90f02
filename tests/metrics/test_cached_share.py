"""cached_share: prompt tokens that came from the cache."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cached_share import METRIC
from tests.serving_made import ServingMade


def test_it_is_over_tokens_and_not_over_requests() -> None:
    """90 of 100 and 0 of 300, and one request that does not tell: 90/400."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, (cached, tokens) in enumerate([(90, 100), (0, 300), (None, 500)]):
        made.request(number, float(second), cached=cached, tokens_in=tokens)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.225)


def test_a_server_that_does_not_tell_has_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "does not tell" in value.detail
