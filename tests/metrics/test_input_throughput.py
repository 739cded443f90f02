"""input_throughput: prompt tokens that were read inside the window."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.input_throughput import METRIC
from tests.serving_made import ServingMade


def test_a_prompt_counts_when_its_answer_begins() -> None:
    """Due at 0 ... 9 s, first token 0.5 s later, 100 tokens each: in [2, 9) 7 prompts in 7 s."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main", ttft_s=0.5, tokens_in=100)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(100.0)


def test_without_a_count_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(4):
        made.request(number, float(second), tokens_in=None)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
