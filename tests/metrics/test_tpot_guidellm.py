"""tpot_guidellm: guidellm's definition on one answer; the golden transcripts are in tests/golden/test_peers.py."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.tpot_guidellm import METRIC
from tests.serving_made import ServingMade


def test_by_hand() -> None:
    """Role 0.1 s, reasoning 0.3, content 0.5 and 0.9, finish 0.95, usage 1.0, end mark 1.1; 4 tokens by usage, 5 by the tokenizer."""
    made = ServingMade(rate=(1.0,), blocks=2)
    for block in range(2):
        number = made.launch(block=block)
        for second in range(3):
            request = made.request(
                number,
                float(second),
                at_s=[0.1, 0.3, 0.5, 0.9, 0.95, 1.0, 1.1],
                kinds=[0, 2, 1, 1, 4, 5, 6],
                tokens_out=4,
            )
            made.counted(number, request, tokens_out=5)
        made.request(number, 3.0, status="5xx")
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.9 / 4, rel=1e-12)
    assert not METRIC.primary


def test_without_text_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(2):
        made.request(number, float(second), chunks=0, tokens_out=None)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
