"""ttft_cold: the first requests after an engine's start."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.ttft_cold import METRIC
from tests.serving_made import ServingMade


def test_only_launches_with_a_fresh_engine_count() -> None:
    """Launch 0 found a fresh engine: 1 and 3 s; launch 1 a used one: 0.1 s."""
    made = ServingMade(rate=(1.0,), blocks=2)
    for block, times in enumerate([(1.0, 3.0), (0.1, 0.1)]):
        number = made.launch(block=block)
        if block == 0:
            made.event(number, "server_ready", -0.9, value=0)
        for place, ttft in enumerate(times):
            made.request(number, -0.5 + 0.1 * place, phase="cold", ttft_s=ttft)
        made.request(number, 0.0, ttft_s=9.0)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials, value.n_launches) == (pytest.approx(2.0), 2, 1)


def test_engines_of_others_are_taken_as_they_are() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), -0.5, phase="cold", ttft_s=0.4)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.4)


def test_without_cold_requests_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)


def test_prompts_sent_alone_to_be_compared_are_not_cold_ones() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    made.request(number, -0.9, phase="cold", ttft_s=0.4)
    made.request(number, -0.5, phase="cold", kind="identity", ttft_s=0.05)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(0.4), 1)
