"""Is a host that was lost, never metered, or stood still named with its launch?"""

from __future__ import annotations

import json
from typing import Any

from fireassay.frames.hosts import host_uses
from fireassay.verdict.audits.every.hosts import blind_hosts, examine_hosts
from tests.handmade import Handmade
from tests.nodes_made import S, read, there, two_nodes

LOST = {"metered_by": "b", "lost": "its agent ended (exit code 255: Connection timed out)", "before_end_s": 6.71}


def found(made: Handmade) -> list[tuple[str, str]]:
    return [(finding.rule, finding.evidence) for finding in examine_hosts(made.measured(), {})]


def metered(made: Handmade, node: str, *, silent: tuple[float, float] = (0.0, 0.0), offset_s: float = 0.0) -> None:
    """The meter's own rows, every second, but for a time."""
    for at in range(102):
        if not silent[0] < at < silent[1]:
            made.rows["telemetry"].append((0, there(offset_s, 0.0)(at), node, "meter", "cpu_time", at * 1e-3, "s", "self"))


def test_hosts_that_were_metered_to_the_end_are_not_named() -> None:
    made = two_nodes()
    metered(made, "a")
    metered(made, "b", offset_s=5.0)
    assert found(made) == []
    assert blind_hosts(made.measured(), {}) is None
    assert blind_hosts(Handmade(levels=(2,), blocks=1).measured(), {}) == "all workers ran on one machine"


def test_a_lost_host_is_named_with_how_long_before_the_end() -> None:
    assert found(two_nodes(b=LOST)) == [
        ("host_lost", "b was last heard of 6.7 s before the end (its agent ended (exit code 255: Connection timed out)) (launch 0)")
    ]


def test_a_host_that_was_never_metered_is_named_with_the_reason() -> None:
    lacking = {"metered_by": "b", "absent": "No module named 'fireassay'"}
    assert found(two_nodes(b=lacking)) == [("host_not_metered", "b was not metered (No module named 'fireassay') (launch 0)")]


def test_a_host_that_stood_still_is_named_and_one_that_was_late_is_not() -> None:
    made = two_nodes()
    metered(made, "a", silent=(40.0, 43.0))
    metered(made, "b", silent=(40.0, 55.0), offset_s=5.0)
    made.experiment = made.experiment.model_copy(update={"energy": made.experiment.energy.model_copy(update={"sample_every_s": 0.5})})
    assert found(made) == [("host_stood_still", "b stood still for 15.0 s in launch 0: it read no counter (in 1 launch in all)")]


def test_hosts_are_compared_by_clock_and_joules() -> None:
    """Own time needs steps; what was not measured is None."""
    clock = (5.0, 0.0)
    made = two_nodes(clocks={"b": clock})
    for rank, host in enumerate("ab"):
        at = S if host == "a" else there(*clock)(1.0)
        made.rows["events"].append((0, at, None, host, rank, 0, "worker_start", None, None, json.dumps({"boot_id": host})))
    read(made, "a", 60.0)
    read(made, "b", 140.0, clock=clock)
    rows: dict[str, Any] = {use.host: use for use in host_uses(made.measured())}
    assert {name: use.ranks for name, use in rows.items()} == {"a": (0,), "b": (1,)}
    assert round(rows["b"].clock_s, 4) == 5.0
    assert rows["b"].clock_bound_s < 2e-4
    assert [round(use.joules) for use in rows.values()] == [6060, 14140]  # until the last reading, a second later
    assert rows["a"].foreign is None
