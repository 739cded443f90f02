"""tokens_out_mean: tokens per request."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.tokens_out_mean import METRIC
from tests.serving_made import ServingMade


def test_it_is_the_mean_over_answers() -> None:
    """2, 4 and 9 tokens; the failed request has none."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, tokens in enumerate([2, 4, 9]):
        made.request(number, float(second), tokens_out=tokens)
    made.request(number, 3.0, status="5xx")
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(5.0), 3)


def test_without_a_count_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), tokens_out=None, chunks=2)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "tokenizer" in value.detail
