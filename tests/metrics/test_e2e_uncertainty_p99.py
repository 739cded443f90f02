"""e2e_uncertainty_p99: as unsure as the last chunk with text."""

from __future__ import annotations

import pytest

from tests.frames.serving.test_stamp_uncertainty import dealt_out


def test_the_percentile_is_that_of_the_answered_requests() -> None:
    assert dealt_out("e2e_uncertainty_p99", tokens_out=10) == pytest.approx((1 + 0.99 * 2999) / 1e6 * 1.0, rel=1e-6)
