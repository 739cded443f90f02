"""Is the latency of the farthest pair that of the farthest pair?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.pair_latency import compute
from tests.builders import measured
from tests.paired import LATENCY, kinds, record


def test_the_farthest_pair_gives_the_value() -> None:
    found = compute(record(kinds(2, 2, 1)), {})["workers=4"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(1000 * LATENCY[2])
    assert (found.n_launches, found.n_trials) == (5, 5 * 12 * 9)


def test_a_record_without_pairs_has_none() -> None:
    found = compute(measured(), {})["workers=1"]
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"
