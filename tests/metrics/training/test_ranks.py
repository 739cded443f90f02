"""How unequal are the ranks, and how exact are their clocks?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.training.ranks import CLOCK_BOUND, SLOWEST_RANK_EXCESS, STRAGGLER_WAIT
from tests.handmade import Handmade
from tests.metrics.clocks_made import clock, look, two_hosts
from tests.metrics.narrow import absence, estimated
from tests.metrics.straggling import Training, record

# ---- straggler_wait: rank-seconds that a step loses until its slowest rank is ready.


def test_it_is_what_the_others_wait_by_hand() -> None:
    """Steps of 100 ms on three ranks that wait 0, 30 and 45 ms of it: a rank waits 25 ms on average, whoever is the slowest."""
    made = Handmade(levels=(3,), blocks=3)
    ms = 1_000_000
    for block in range(3):
        number = made.launch(workers=3, block=block)
        for rank, waiting in enumerate((0, 30, 45)):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
            made.rows["waits"] += [(number, rank, 0, step, "backward", 0, waiting * ms) for step in range(20)]
    assert estimated(STRAGGLER_WAIT.compute(made.measured(), {})["workers=3"]).value == pytest.approx(0.025)


@pytest.mark.slow
def test_a_late_rank_makes_all_others_wait() -> None:
    """Three of four ranks by 200 ms; chance adds a few milliseconds."""
    late, clean = (
        STRAGGLER_WAIT.compute(record(Training(ranks=4, seed=1, late=slow), launches=3).measured(), {})["workers=4"]
        for slow in ({(2, "data"): 200.0}, {})
    )
    assert isinstance(late, Estimate)
    assert isinstance(clean, Estimate)
    assert late.value == pytest.approx(0.15, rel=0.05)
    assert clean.value < 0.015


def test_it_is_absent_alone_and_where_waiting_is_not_known() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
    found = STRAGGLER_WAIT.compute(made.measured(), {})
    alone, unseen = absence(found["workers=1"]), absence(found["workers=2"])
    assert (alone.reason, unseen.reason) == ("not_applicable", "not_measured")


# ---- slowest_rank_excess: by how much of a step one rank is slower all through a launch.


def test_it_is_the_slow_ranks_own_time_beyond_the_others_over_the_step_by_hand() -> None:
    """Own times 70, 80 and 100 ms of steps of 100 ms: the slowest is 20 ms beyond the slower of the others."""
    made = Handmade(levels=(3,), blocks=2)
    for block in range(2):
        number = made.launch(workers=3, block=block)
        for rank, own in enumerate((70, 80, 100)):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
            made.rows["waits"] += [(number, rank, 0, step, "backward", 0, (100 - own) * 1_000_000) for step in range(20)]
    assert estimated(SLOWEST_RANK_EXCESS.compute(made.measured(), {})["workers=3"]).value == pytest.approx(0.2)


def test_ranks_that_are_alike_have_next_to_none_though_they_wait_for_each_other() -> None:
    found = estimated(SLOWEST_RANK_EXCESS.compute(record(Training(ranks=4, seed=2), launches=3).measured(), {})["workers=4"])
    assert abs(found.value) < 0.05


def test_it_is_absent_alone_where_waiting_is_not_known_and_without_a_launch() -> None:
    made = Handmade(levels=(1, 2, 4), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[0.1] * 20)
    found = SLOWEST_RANK_EXCESS.compute(made.measured(), {}).values()
    reasons = [value.reason for value in found if isinstance(value, Absent)]
    assert reasons == ["not_applicable", "not_measured", "not_measured"]


# ---- clock_bound: by how much a time of one host can be off on another's clock.


def launches(*, looks: int, boots: dict[str, str] | None = None) -> Handmade:
    made = Handmade(levels=(4,), blocks=3)
    for block in range(3):
        number = made.launch(workers=4, block=block)
        two_hosts(made, number, boots=boots)
        look(made, number, clock(0.5, 0.0), count=looks, seed=block)
    return made


def test_the_largest_bound_of_a_host_in_seconds() -> None:
    """The way takes 30 microseconds at least, there and back: the best look is off by no less than that, and not by much more."""
    found = estimated(CLOCK_BOUND.compute(launches(looks=300).measured(), {})["workers=4"])
    assert all(5e-6 < value < 60e-6 for value in found.launch_values)
    assert found.n_launches == 3


def test_hosts_of_one_kernel_have_none() -> None:
    found = estimated(CLOCK_BOUND.compute(launches(looks=0, boots={"a": "x", "b": "x"}).measured(), {})["workers=4"])
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_it_is_absent_on_one_host_and_with_too_few_reads() -> None:
    unknown = absence(CLOCK_BOUND.compute(launches(looks=3).measured(), {})["workers=4"])
    assert (unknown.reason, "3 reads" in unknown.detail) == ("not_measured", True)
    made = Handmade(levels=(2,), blocks=1)
    made.event(made.launch(workers=2), "worker_start", 1.0, rank=0, incarnation=0)
    assert absence(CLOCK_BOUND.compute(made.measured(), {})["workers=2"]).reason == "not_applicable"
    never = CLOCK_BOUND.compute(Handmade(levels=(2,), blocks=1).measured(), {})["workers=2"]
    assert isinstance(never, Absent)


def test_a_launch_whose_workers_never_said_where_they_began_is_not_measured() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(CLOCK_BOUND.compute(made.measured(), {})["workers=2"], Absent)
