"""output_throughput: tokens inside the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.output_throughput import METRIC
from tests.serving_made import ServingMade


def test_only_tokens_inside_the_window_count() -> None:
    """Due at 0 ... 9 s, 4 tokens each at 0.25, 0.75, 1.25, 1.75 s: in [2, 9) 28 tokens arrive in 7 s."""
    made = ServingMade(rate=(1.0,), blocks=2, warm_up_s=2.0)
    for block in range(2):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second), phase="warm_up" if second < 2 else "main", ttft_s=0.25, gap_s=0.5, tokens_out=4)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.0)
    assert "every chunk's tokens are known" in value.method


def test_a_missing_count_is_no_zero() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(4):
        made.request(number, float(second), chunks=3, tokens_out=None if second == 2 else 3)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "1 answer had" in value.detail
    assert "serving.tokenizer" in value.detail


def test_embeddings_have_no_tokens() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, task="embeddings")
    number = made.launch()
    for second in range(4):
        made.request(number, float(second), chunks=0, tokens_out=None, done_s=0.1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"
