"""Is the bandwidth of the slowest pair that of the slowest pair?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.pair_bandwidth import compute
from tests.builders import measured
from tests.paired import BANDWIDTH, kinds, record


def test_the_slowest_pair_gives_the_value() -> None:
    found = compute(record(kinds(2, 2, 1)), {})["workers=4"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(BANDWIDTH[2] / 1000)


def test_pairs_without_any_bandwidth_have_no_slowest() -> None:
    found = compute(record(kinds(2, 2, 1), flat=True), {})["workers=4"]
    assert found == Absent(reason="not_measured", detail="no pair has a value")


def test_a_record_without_pairs_has_none() -> None:
    assert isinstance(compute(measured(), {})["workers=1"], Absent)
