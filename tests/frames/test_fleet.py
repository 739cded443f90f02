"""Do rates become one result per node and test, and does the error go over all tests?"""

from __future__ import annotations

import pytest

from fireassay.frames.fleet import fleet
from tests.fleet_made import drawn, fleet_record, links_drawn

pytestmark = pytest.mark.slow


def test_the_worst_test_of_a_slow_node_comes_first() -> None:
    found = fleet(fleet_record({"memory": drawn(16, slow={"n3": 0.1}), "disk": drawn(16, slow={"n3": 0.4, "n7": 0.2}, seed=2)}))
    assert found.drained == ("n3", "n7")
    assert list(found.slow("n3")) == ["disk", "memory"]


def test_more_tests_share_the_error() -> None:
    rates = drawn(16, spread=0.02)
    one, three = fleet(fleet_record({"memory": rates})), fleet(fleet_record({"memory": rates, "disk": rates, "matrix": rates}))
    assert three.tests["memory"].nodes["n0"].ordinary > one.tests["memory"].nodes["n0"].ordinary


def test_too_few_rounds_leave_a_test_open() -> None:
    found = fleet(fleet_record({"memory": drawn(16, rounds=2)}))
    assert not found.drained
    assert found.open == ("memory: 0 of 16 nodes have the 3 rounds that it needs, and it needs 4 nodes to compare",)


def test_a_node_that_died_in_the_middle_is_named_as_open_and_not_as_a_cut_link() -> None:
    links = {link: [*values[:2], *[None] * 5] if "n2" in link else values for link, values in links_drawn(6).items()}
    found = fleet(fleet_record({}, links={"bandwidth": links}))
    assert found.open[0] == "bandwidth: fewer than 3 rounds of n2"
    assert (found.drained, found.bad_links) == ((), ())


def test_links_are_judged_by_the_class_of_their_switches() -> None:
    switches = {f"n{node}": "s1" if node < 4 else "s2" for node in range(8)}
    found = fleet(fleet_record({}, links={"bandwidth": links_drawn(8)}, switches=switches))
    kinds = {link: result.kind for link, result in found.tests["bandwidth"].links.items()}
    assert (kinds["n0", "n3"], kinds["n3", "n4"]) == ("same switch", "other switch")
