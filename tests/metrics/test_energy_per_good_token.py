"""energy_per_good_token: joules over the tokens of good requests."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.energy_per_good_token import METRIC
from assay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade


def half_late(objectives: Objectives | None) -> ServingMade:
    """Every second request is late; 10 W from t0 on."""
    made = ServingMade(rate=(1.0,), blocks=1, objectives=objectives)
    number = made.launch()
    for second in range(11):
        made.request(number, float(second), ttft_s=0.1 if second % 2 else 0.5, gap_s=0.1, tokens_out=4)
    for at_s in (0.0, 11.0):
        made.reading(number, "package-0", "energy", 10.0 * at_s, at_s=at_s, unit="J", method="counter")
    return made


def test_late_answers_take_joules_and_are_not_counted() -> None:
    """Window [0, 10): 100 J for the 20 tokens of the 5 odd requests."""
    value = METRIC.compute(half_late(Objectives(ttft_s=0.2)).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(5.0)


def test_without_objectives_there_is_none() -> None:
    value = METRIC.compute(half_late(None).measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "serving.objectives" in value.detail
