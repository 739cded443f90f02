"""canaries_answered: canaries that came back with their nonce."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.canaries_answered import METRIC
from tests.serving_made import ServingMade


def test_only_canaries_count() -> None:
    """Two of three canaries repeat their nonce; an answer of kind normal is none of them."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, text in enumerate(["nonce-0 !", "sorry", "it is nonce-2"]):
        made.request(number, float(second), kind="canary", expected=f"nonce-{second}", text=text)
    made.request(number, 3.0, expected="42", text="41")
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(2 / 3), 3)


def test_without_canaries_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    for second in range(3):
        made.request(0 if second else made.launch(), float(second))
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert "canaries" in value.detail
