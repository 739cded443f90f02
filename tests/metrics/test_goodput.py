"""goodput: requests that met every objective, over the window."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.goodput import METRIC
from assay.spec.serving import Objectives
from tests.serving_made import ServingMade


def made_of(ttfts: list[float], objectives: Objectives) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1, objectives=objectives)
    number = made.launch()
    for second, ttft in enumerate(ttfts):
        made.request(number, float(second), ttft_s=ttft, status="5xx" if ttft < 0 else "ok")
    return made


def test_slow_and_failed_requests_are_misses() -> None:
    """Due every second; in [0, 8): 8 requests, of which 2 are slow and 1 fails: 5 in 8 s."""
    made = made_of([0.1, 0.9, 0.1, -1.0, 0.1, 0.1, 0.9, 0.1, 0.1], Objectives(ttft_s=0.5))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(5 / 8)


def test_without_objectives_there_is_no_goodput() -> None:
    value = METRIC.compute(made_of([0.1, 0.1], Objectives()).measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "serving.objectives" in value.detail
