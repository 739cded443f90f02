"""tool_share: time inside tools against generation."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.tool_share import METRIC
from tests.serving_made import ServingMade


def test_tools_against_generation() -> None:
    """A session of three requests of 1 s each, 2 s in a tool before the second and 4 s of thinking before the third: 2/5."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    common = {"session": 7, "at_s": [1.0], "tokens_out": 1}
    made.request(number, 0.0, turn=0, **common)  # type: ignore[arg-type]
    made.request(number, 3.0, turn=1, pause_s=2.0, pause_kind="tool", follows=True, **common)  # type: ignore[arg-type]
    made.request(number, 8.0, turn=2, pause_s=4.0, pause_kind="think", follows=True, **common)  # type: ignore[arg-type]
    made.request(number, 9.0, at_s=[1.0], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2 / 5)


def test_without_tools_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), session=second, turn=0)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "tool_steps" in value.detail
