"""availability: the share, and the classes of failures."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.availability import METRIC
from tests.serving_made import ServingMade


def test_classes_are_named_with_their_number() -> None:
    """Of 6 requests one is refused and one times out."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, status in enumerate(["ok", "refused", "ok", "timeout", "ok", "ok"]):
        made.request(number, float(second), status=status)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4 / 6)
    assert "1 refused, 1 timeout" in value.method


def test_no_failure_is_no_certainty() -> None:
    made = ServingMade(rate=(1.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.high - value.low == pytest.approx(1 - 0.025 ** (1 / 30))  # Clopper and Pearson, 0 of 30
    assert "none failed" in value.method


def test_nothing_due_is_no_share() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.launch()
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
