"""Joules of several hosts: the sum of all, each until the launch's end by its own clock, or the reason why there is no sum."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.clock_offsets import aligned
from fireassay.frames.costs import energy_gaps, launch_joules
from fireassay.frames.hosts import host_uses
from fireassay.frames.noise import by_host, disturbances, fold
from fireassay.metrics.cost import ENERGY
from tests.handmade import Handmade
from tests.nodes_made import read, there, two_nodes

LOST = {"metered_by": "b", "lost": "its agent did not answer", "before_end_s": 12.04}


@pytest.mark.parametrize("clock", [(0.0, 0.0), (5.0, 50.0), (-5.0, -50.0)])
def test_joules_are_the_sum_over_hosts_each_until_the_end_by_its_own_clock(clock: tuple[float, float]) -> None:
    """100 s at 60 W and 140 W are 20 kJ; the last reading, a second later, is not of the launch. 1 ms of clock is 0.14 J."""
    made = two_nodes(clocks={"b": clock})
    read(made, "a", 60.0)
    read(made, "b", 140.0, clock=clock)
    [(_, joules)] = launch_joules(made.measured()).iter_rows()
    assert joules == pytest.approx(20_000.0, abs=0.2)


def test_a_lost_host_leaves_no_sum_and_says_which_is_missing() -> None:
    made = two_nodes(b=LOST)
    read(made, "a", 60.0)
    read(made, "b", 140.0, until_s=88.0)
    measured = made.measured()
    assert launch_joules(measured).height == 0
    [value] = ENERGY.compute(measured, {}).values()
    assert isinstance(value, Absent)
    assert value.detail == "joules of 1 of 2 hosts: b was last heard of 12.0 s before the end (its agent did not answer)"


def test_a_host_without_an_energy_counter_leaves_no_sum() -> None:
    made = two_nodes()
    read(made, "a", 60.0)
    assert energy_gaps(made.measured()) == {0: "joules of 1 of 2 hosts: b has no reading"}


def test_a_machine_that_two_nodes_share_counts_once() -> None:
    made = two_nodes(b={"metered_by": "a"})
    read(made, "a", 60.0)
    measured = made.measured()
    assert energy_gaps(measured) == {}
    [value] = ENERGY.compute(measured, {}).values()
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(6_000.0)


def test_joules_of_a_loads_client_host_are_its_own_and_none_of_the_loads() -> None:
    """The coordinator's meter has those of the load; a client's host without a counter leaves the sum alone."""
    made = two_nodes(a={"metered_by": "a", "of_clients": True}, b={"metered_by": "b", "of_clients": True})
    read(made, "a", 60.0)
    made.reading(0, "package-0", "energy", 0.0)
    made.reading(0, "package-0", "energy", 100.0, at_s=10.0)
    measured = made.measured()
    assert energy_gaps(measured) == {}
    assert launch_joules(measured)["value"].to_list() == [pytest.approx(100.0)]
    joules = {use.host: use.joules for use in host_uses(measured)}
    assert joules == {"a": pytest.approx(6_000.0, rel=0.02), "b": None}


def test_joules_of_the_coordinator_alone_are_not_those_of_two_hosts() -> None:
    """As records were before the nodes were metered."""
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    row = list(made.rows["launches"][0])
    row[-1] = '{"hosts": ["a", "b"]}'
    made.rows["launches"][0] = tuple(row)
    made.reading(0, "package-0", "energy", 0.0)
    made.reading(0, "package-0", "energy", 100.0, at_s=10.0)
    assert "0 of 2 hosts: a was not metered (only the machine that ran assay was metered)" in energy_gaps(made.measured())[0]


@pytest.mark.parametrize("detail", ["[1]", "{", '{"nodes": 7}', '{"nodes": {"a": 7}}', '{"node": "a", "pings": []}'])
def test_a_strangers_record_with_other_details_is_read(detail: str) -> None:
    made = two_nodes()
    made.rows["events"] = [(*row[:-1], detail) if row[6].startswith("node_") else row for row in made.rows["events"]]
    read(made, "a", 60.0)
    launch_joules(made.measured())


def test_a_coordinator_that_is_no_node_is_placed_by_its_pings() -> None:
    """Its times, as those of a fault, are compared with the workers' of a host whose clock is 5 s and 50 ppm away."""
    clock = (5.0, 50.0)
    made = two_nodes(clocks={"a": clock})
    says = there(*clock)
    made.rows["events"].append((0, says(1.0), None, "a", 0, 0, "worker_start", None, None, "{}"))
    made.event(0, "fault", 60.0, host="login", detail={"pid": 7})
    found = aligned(made.measured(), 0)
    assert found.trouble == ""
    [fault] = found.events.filter(found.events["kind"] == "fault")["ns"]
    assert abs(fault - says(60.0)) <= found.bound_ns <= 1e6


def counted(made: Handmade, host: str, **spans: float) -> None:
    counters: dict[str, Any] = {"busy": "cpu", "idle": "cpu", "steal": "cpu", "cpu_time": "launch"}
    for name, span in spans.items():
        for at, value in ((0, 5.0), (10, 5.0 + span)):
            made.rows["telemetry"].append((0, at * 10**9, host, counters[name], name, value, "s", "counter"))


def test_a_disturbance_names_its_host_and_the_launch_is_as_disturbed_as_the_worst() -> None:
    made = two_nodes(wall_s=10.0)
    counted(made, "a", busy=10.0, idle=10.0, steal=0.0, cpu_time=10.0)
    counted(made, "b", busy=15.0, idle=5.0, steal=0.0, cpu_time=10.0)
    measured = made.measured()
    assert by_host(measured).select("host", "foreign").rows() == [("a", 0.0), ("b", 0.25)]
    assert fold(measured)["foreign"].to_list() == [0.25]
    assert disturbances(measured)[0]["foreign_load"].startswith("other programs used 25 % of the processors on b (at most")
