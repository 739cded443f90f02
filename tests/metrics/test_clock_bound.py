"""clock_bound: by how much a time of one host can be off on another's clock."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.clock_bound import METRIC
from tests.handmade import Handmade
from tests.metrics.clocks_made import clock, look, two_hosts


def launches(*, looks: int, boots: dict[str, str] | None = None) -> Handmade:
    made = Handmade(levels=(4,), blocks=3)
    for block in range(3):
        number = made.launch(workers=4, block=block)
        two_hosts(made, number, boots=boots)
        look(made, number, clock(0.5, 0.0), count=looks, seed=block)
    return made


def test_the_largest_bound_of_a_host_in_seconds() -> None:
    """The way takes 30 microseconds at least, there and back: the best look is off by no less than that, and not by much more."""
    found = METRIC.compute(launches(looks=300).measured(), {})["workers=4"]
    assert isinstance(found, Estimate)
    assert all(5e-6 < value < 60e-6 for value in found.launch_values)
    assert found.n_launches == 3


def test_hosts_of_one_kernel_have_none() -> None:
    found = METRIC.compute(launches(looks=0, boots={"a": "x", "b": "x"}).measured(), {})["workers=4"]
    assert isinstance(found, Estimate)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_it_is_absent_on_one_host_and_where_nobody_looked() -> None:
    unknown = METRIC.compute(launches(looks=3).measured(), {})["workers=4"]
    assert isinstance(unknown, Absent)
    assert (unknown.reason, "3 looks" in unknown.detail) == ("not_measured", True)
    made = Handmade(levels=(2,), blocks=1)
    made.event(made.launch(workers=2), "worker_start", 1.0, rank=0, incarnation=0)
    one = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(one, Absent)
    assert one.reason == "not_applicable"
    never = METRIC.compute(Handmade(levels=(2,), blocks=1).measured(), {})["workers=2"]
    assert isinstance(never, Absent)


def test_a_launch_whose_workers_never_said_where_they_began_is_not_measured() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)
