"""fastest_workers: where the step is shortest by the known cluster."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.fastest_workers import METRIC
from tests.metrics.scaling_records import only
from tests.simulated_made import cluster, record


def test_it_is_where_the_known_cluster_has_its_shortest_step() -> None:
    """Latencies of 1 ms and 4 buckets: sqrt((0.95 - 0.16) / 8e-3) = 9.9, less what the scatter of the workers costs."""
    found = only(METRIC, record(alpha_s=1e-3))
    times = {p: 1.0 * cluster(alpha_s=1e-3).compute_s(p) + cluster(alpha_s=1e-3).transfer_s(p) for p in range(1, 64)}
    best = min(times, key=lambda p: times[p])
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(best, abs=1)
    assert found.low <= best + 1
    assert not found.method.startswith("FLAGGED")


def test_far_beyond_what_was_measured_it_is_flagged() -> None:
    """sqrt((0.95 - 0.16) / 1.6e-4) = 70 workers, of 16 that were measured."""
    found = only(METRIC, record())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(70, rel=0.1)
    assert found.method.startswith("FLAGGED, for it lies 4.")


def test_a_step_that_only_gets_shorter_has_none() -> None:
    found = only(METRIC, record(alpha_s=1e-13, gradient=1e3, jitter=0.0, noise=0.0))
    assert isinstance(found, Absent)
    assert found.reason == "undefined"


def test_weak_scaling_has_none() -> None:
    assert isinstance(only(METRIC, record(weak=True)), Absent)
