"""Does every node to drain have its reason, its evidence and its line for Slurm?"""

from __future__ import annotations

import pytest

from fireassay.kinds.fleet.audits.slow_nodes import examine_fleet, examine_links
from tests.fleet_made import drawn, fleet_record, links_drawn

pytestmark = pytest.mark.slow
NAMES = [f"n{number}" for number in range(6)]


def test_a_slow_node_is_named_with_both_numbers() -> None:
    (found,) = examine_fleet(fleet_record({"memory": drawn(16, slow={"n3": 0.2})}), {})
    assert (found.rule, found.severity) == ("slow_node", "fail")
    assert found.evidence.startswith("n3: memory copy 21 % slower than the fleet, where ordinary nodes are at most ")


def test_a_silent_node_is_named_with_its_reason() -> None:
    (found,) = examine_fleet(fleet_record({"memory": {**drawn(8), "n2": [None] * 7}}), {})
    assert (found.rule, found.evidence) == ("silent_node", "n2: no memory in any round: Connection refused")


def test_a_test_that_no_node_can_do_drains_none() -> None:
    nobody = {node: [None] * 7 for node in drawn(8)}
    assert not list(examine_fleet(fleet_record({"memory": drawn(8), "device": nobody}, why="torch finds no GPU"), {}))


def test_a_slow_link_is_named_and_a_slow_node_instead_of_its_links() -> None:
    record = fleet_record({"memory": drawn(8)}, links={"bandwidth": links_drawn(8, slow={("n1", "n2"): 0.4}, slow_nodes={"n5": 0.4})})
    (node,) = examine_fleet(record, {})
    assert (node.rule, node.evidence.partition(" slower")[0]) == ("slow_node", "n5: transfer (sends and receives) 40 %")
    (link,) = examine_links(record, {})
    assert (link.rule, link.severity) == ("slow_link", "fail")
    assert link.evidence.startswith("n1 > n2: transfer 39 % slower than its nodes explain, where ordinary links are at most ")


def test_a_cut_link_between_nodes_that_answer_is_told_from_a_dead_node() -> None:
    cut = links_drawn(6, none=(("n1", "n2"), ("n2", "n1")))
    (link, back) = examine_links(record := fleet_record({}, links={"bandwidth": cut}, why="No route to host"), {})
    assert not list(examine_fleet(record, {}))
    assert (link.rule, link.evidence) == ("silent_link", "n1 > n2: no bandwidth in any round: No route to host")
    assert back.evidence.startswith("n2 > n1")
    dead = links_drawn(6, none=tuple((a, b) for a in NAMES for b in NAMES if a != b and "n4" in (a, b)))
    record = fleet_record({}, links={"bandwidth": dead})
    assert [found.evidence for found in examine_fleet(record, {})] == ["n4: no bandwidth in any round: Connection refused"]
    assert not list(examine_links(record, {}))
