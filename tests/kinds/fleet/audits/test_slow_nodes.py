"""Does every node to drain have its reason, its evidence and its line for Slurm?"""

from __future__ import annotations

import shlex

import pytest

from fireassay.kinds.fleet.audits.slow_nodes import drain_line, examine_fleet
from tests.fleet_made import drawn, fleet_record

pytestmark = pytest.mark.slow


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


def test_a_hostile_name_or_reason_stays_one_word() -> None:
    line = drain_line("n1; reboot", "it's $(reboot)\n")
    assert shlex.split(line) == ["scontrol", "update", "nodename=n1; reboot", "state=drain", "reason=assay fleet: it's $(reboot)\n"]
