"""predicted_scaled_speedup: Gustafson's, less what the links take."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.predicted_scaled_speedup import METRIC
from assay.stats.groups.expected_maximum import slowest_of
from tests.handmade import Handmade
from tests.metrics.scaling_records import only
from tests.simulated_made import TRUTH, cluster, record


def test_the_grown_work_over_the_grown_time() -> None:
    """(0.05 + 0.95 * 32) / (m(32) + c(32)): 30.45 / (1.042 + 0.160)."""
    found = only(METRIC, record())
    assert isinstance(found, Estimate)
    by_hand = (0.05 + 0.95 * 32) / (slowest_of(32, TRUTH["jitter"]) + cluster().transfer_s(32))
    assert found.value == pytest.approx(by_hand, rel=0.03)


def test_weak_scaling_is_predicted_as_it_was_measured() -> None:
    found = only(METRIC, record(weak=True))
    assert isinstance(found, Estimate)
    by_hand = 32 / (slowest_of(32, TRUTH["jitter"]) + cluster().transfer_s(32))
    assert found.value == pytest.approx(by_hand, rel=0.03)


def test_without_links_it_is_absent() -> None:
    assert isinstance(only(METRIC, Handmade(levels=(1, 2), blocks=1).measured()), Absent)
