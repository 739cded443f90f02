"""cost_per_good_token: dollars of the window over what was made in it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cost_per_good_token import METRIC
from assay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade


def priced(price: float | None = 3.6, **how: Any) -> ServingMade:
    """Two replicas at 3.6 $/h: 0.002 $ a second. Every second from 0 to 10 s a request of 4 tokens, done within 0.4 s."""
    made = ServingMade(rate=(1.0,), blocks=2, prices=price, **how)
    for block in range(2):
        number = made.launch(block=block)
        for second in range(11):
            made.request(number, float(second), ttft_s=0.1 if second % 2 else 0.5, gap_s=0.1, tokens_out=4)
    return made


def test_late_answers_are_paid_for_and_not_counted() -> None:
    """Of 10 requests due in [0, 10) the 5 odd ones are in time: 0.02 $ for 20 tokens."""
    value = METRIC.compute(priced(objectives=Objectives(ttft_s=0.2)).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.02 / 20)


def test_without_a_price_there_is_none() -> None:
    value = METRIC.compute(priced(None, objectives=Objectives(ttft_s=0.2)).measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "usd_per_worker_hour" in value.detail


def test_where_nothing_was_asked_or_nothing_was_good_there_is_none() -> None:
    assert isinstance(METRIC.compute(priced().measured(), {})["rate=1"], Absent)
    hopeless = METRIC.compute(priced(objectives=Objectives(ttft_s=0.01)).measured(), {})["rate=1"]
    assert isinstance(hopeless, Absent)
    assert "met every objective" in hopeless.detail


def test_a_launch_in_which_nothing_was_good_is_paid_for() -> None:
    """As above, and a third launch in which every answer was late: 0.06 $ for 40 tokens, and not 0.04 $."""
    made = ServingMade(rate=(1.0,), blocks=3, prices=3.6, objectives=Objectives(ttft_s=0.2))
    for block in range(3):
        number = made.launch(block=block)
        for second in range(11):
            in_time = second % 2 and block < 2
            made.request(number, float(second), ttft_s=0.1 if in_time else 0.5, gap_s=0.1, tokens_out=4)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.06 / 40)
    assert value.n_launches == 3
    assert value.launch_values == pytest.approx((0.001, 0.001))
    assert value.low < value.value < value.high
