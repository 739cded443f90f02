"""Is a node's rate that of its rounds?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.verdict.judge import judge
from tests.fleet_made import drawn, fleet_record

pytestmark = pytest.mark.slow


def test_a_rate_is_the_geometric_mean_of_the_rounds_and_missing_where_there_are_none() -> None:
    rates = {**drawn(4, rounds=3), "n1": [1e9, 2e9, 4e9], "n2": [None] * 3}
    results = judge(fleet_record({"memory": rates})).results
    one = results["node_memory_rate"]["n1"]
    assert isinstance(one, Estimate)
    assert one.value == pytest.approx(2e9)
    assert isinstance(results["node_memory_rate"]["n2"], Absent)
    assert "node_disk_rate" not in results
