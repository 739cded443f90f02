"""energy_per_token: joules of the window over what was made in it."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.energy_per_token import METRIC
from tests.serving_made import ServingMade


def with_readings(readings: list[tuple[float, float]], method: str = "counter") -> ServingMade:
    """Requests of 4 tokens every second, and cumulative joules at some seconds."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(13):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main", ttft_s=0.1, gap_s=0.1, tokens_out=4)
    for at_s, joules in readings:
        made.reading(number, "package-0", "energy", joules, at_s=at_s, unit="J", method=method)
    return made


def test_only_the_joules_of_the_window_count() -> None:
    """Readings at -1, 5 and 13 s: 0, 60 and 180 J. At 2 s 30 J, at 12 s 165 J: 135 J for 40 tokens of 10 answers."""
    value = METRIC.compute(with_readings([(-1.0, 0.0), (5.0, 60.0), (13.0, 180.0)]).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(135 / 40)


def test_a_model_says_that_it_is_one() -> None:
    value = METRIC.compute(with_readings([(0.0, 0.0), (13.0, 130.0)], "modelled").measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert "MODELLED" in value.method


def test_without_readings_round_the_window_there_is_none() -> None:
    assert isinstance(METRIC.compute(with_readings([]).measured(), {})["rate=1"], Absent)
    assert isinstance(METRIC.compute(with_readings([(3.0, 0.0), (5.0, 60.0)]).measured(), {})["rate=1"], Absent)
