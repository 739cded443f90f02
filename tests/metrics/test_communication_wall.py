"""communication_wall: the model's step time at each measured count."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.communication_wall import METRIC
from assay.stats.groups.expected_maximum import slowest_of
from tests.handmade import Handmade
from tests.simulated_made import LEVELS, TRUTH, cluster, record


def test_it_is_the_truth_at_every_count() -> None:
    """m(p) (0.05 + 0.95/p) + c(p), with a bandwidth and a latency that were measured."""
    values = METRIC.compute(record(), {})
    for p in LEVELS:
        value = values[f"workers={p}"]
        assert isinstance(value, Estimate)
        truth = slowest_of(p, TRUTH["jitter"]) * cluster().compute_s(p) + cluster().transfer_s(p)
        assert value.value == pytest.approx(truth, rel=0.02)
        assert value.low < value.value < value.high


def test_it_says_what_it_stands_on() -> None:
    value = METRIC.compute(record(), {})["workers=16"]
    assert isinstance(value, Estimate)
    assert "alpha 2" in value.method
    assert "in a sweep of sizes" in value.method


def test_without_links_it_is_absent() -> None:
    assert isinstance(METRIC.compute(Handmade(levels=(1, 2), blocks=1).measured(), {})["workers=2"], Absent)
