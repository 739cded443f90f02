"""ttft_uncertainty_p99: as unsure as the first chunk with text."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent
from assay.metrics.ttft_uncertainty_p99 import METRIC
from tests.frames.serving.test_stamp_uncertainty import dealt_out
from tests.serving_made import ServingMade


def test_the_percentile_is_that_of_the_answered_requests() -> None:
    assert dealt_out("ttft_uncertainty_p99", tokens_out=10) == pytest.approx((1 + 0.99 * 2999) / 1e6 * 1.0, rel=1e-6)


def test_answers_that_are_not_streamed_have_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, stream=False)
    made.request(made.launch(), 0.0)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
