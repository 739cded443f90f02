"""What is the verdict on a fleet, and what does its report say first?"""

from __future__ import annotations

import json

import pytest

from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.kinds.fleet.show import answer
from fireassay.reports import build_view
from fireassay.reports.documents import record as json_report
from fireassay.verdict.judge import judge
from tests.fleet_made import drawn, fleet_record

pytestmark = pytest.mark.slow

FIT = drawn(16)
SLOW = drawn(16, slow={"n3": 0.1, "n5": 0.2})


@pytest.mark.parametrize(
    ("rates", "find", "status", "code"),
    [
        (FIT, 0.05, "PASS", 0),
        (SLOW, 0.05, "FAIL", 1),
        (FIT, 0.012, "INCONCLUSIVE", 4),  # a slowness that the tests cannot find
        (drawn(3), 0.05, "INCONCLUSIVE", 4),  # too few nodes to compare
        (drawn(16, rounds=2), 0.05, "INCONCLUSIVE", 4),
        ({**FIT, "n2": [None] * 7}, 0.05, "FAIL", 1),  # a node that never answers
        ({**FIT, "n2": [*FIT["n2"][:2], *[None] * 5]}, 0.05, "INCONCLUSIVE", 4),
    ],
)
def test_the_status_follows_from_the_nodes(rates: dict[str, list[float | None]], find: float, status: str, code: int) -> None:
    found = judge(fleet_record({"memory": rates}, find=find)).verdict.status
    assert (found, EXIT_OF_STATUS[found]) == (status, code)


def test_the_answer_names_the_nodes_to_drain_and_the_lines_that_drain_them() -> None:
    record = fleet_record({"memory": SLOW, "disk": FIT})
    view = build_view.build(record, judge(record))
    said = answer(view)
    assert (said.mark.word, said.headline) == ("DRAIN", "2 of 16 nodes to drain: n3, n5")
    assert [step.command.partition(" reason=")[0] for step in said.next] == [
        "scontrol update nodename=n3 state=drain",
        "scontrol update nodename=n5 state=drain",
    ]
    findings = json.loads(json_report.render(view))["findings"]
    assert [row["evidence"].partition(":")[0] for row in findings if row["rule"] == "slow_node"] == ["n3", "n5"]


def test_a_fit_fleet_says_what_would_have_been_found() -> None:
    record = fleet_record({"memory": FIT})
    said = answer(build_view.build(record, judge(record)))
    assert said.mark.word == "FIT"
    assert said.headline.startswith("all 16 nodes are fit: a node ")
    assert said.headline.endswith("would have been found")
