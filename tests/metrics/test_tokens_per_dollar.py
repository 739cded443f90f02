"""tokens_per_dollar: dollars of the window over what was made in it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.tokens_per_dollar import METRIC
from tests.serving_made import ServingMade


def priced(price: float | None = 3.6, **how: Any) -> ServingMade:
    """Two replicas at 3.6 $/h: 0.002 $ a second. Every second from 0 to 10 s a request of 4 tokens, done within 0.4 s."""
    made = ServingMade(rate=(1.0,), blocks=2, prices=price, **how)
    for block in range(2):
        number = made.launch(block=block)
        for second in range(11):
            made.request(number, float(second), ttft_s=0.1, gap_s=0.1, tokens_out=4)
    return made


def test_forty_tokens_for_two_cents() -> None:
    """Window [0, 10): 40 tokens for 0.02 $."""
    value = METRIC.compute(priced().measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2000)


def test_without_a_price_there_is_none() -> None:
    value = METRIC.compute(priced(None).measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "usd_per_worker_hour" in value.detail
