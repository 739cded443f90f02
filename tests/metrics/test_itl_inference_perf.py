"""itl_inference_perf: inference-perf's definition on one answer; the golden transcripts are in tests/golden/test_peers.py."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.itl_inference_perf import METRIC
from tests.metrics.peer_answers import one_answer, without_text


def test_by_hand() -> None:
    """Role 0.1 s, reasoning 0.3, content 0.5 and 0.9, finish 0.95, usage 1.0, end mark 1.1; 4 tokens by usage, 5 by the tokenizer."""
    made = one_answer()
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((0.9 - 0.5) / 4, rel=1e-12)
    assert not METRIC.primary


def test_without_text_there_is_none() -> None:
    made = without_text()
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
