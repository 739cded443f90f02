"""step_ttft_p50: the first token of later turns."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.step_ttft_p50 import METRIC
from tests.serving_made import ServingMade


def test_first_turns_are_not_in_it() -> None:
    """First turns take 1 s, later ones 0.2 s."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for session in range(40):
            for turn in range(2):
                due = session * 0.1 + turn
                made.request(number, due, ttft_s=0.2 if turn else 1.0, session=session, turn=turn, follows=turn > 0)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(0.2), 120)


def test_single_requests_have_no_later_step() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "turns" in value.detail
