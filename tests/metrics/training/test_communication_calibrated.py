"""What do launches that calibrate communication say?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Value
from fireassay.metrics.training.communication import COMM_ALONE, COMM_CONTENTION, COMM_HIDDEN
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, told
from tests.metrics.narrow import absence, estimated
from tests.metrics.training.test_communication import RANKS, in_turn, noisy, timed

pytestmark = pytest.mark.slow


# ---- comm_alone: a step's collectives with nothing else running, by the launches that calibrate communication. Worked out by hand.


def replays(made: Handmade, pairs_ms: list[tuple[float, float]], *, status: str = "ok") -> int:
    """A launch that calibrates communication, with replays that took so long on each of two ranks."""
    number = made.launch(workers=2, role="communication", status=status)
    for place, pair in enumerate(pairs_ms):
        for rank in RANKS:
            told(made, number, rank, 10 + 8 * place, "replay", None, total_ms=pair[rank])
    return number


def absent(made: Handmade, configuration: str = "workers=2") -> Absent:
    return absence(COMM_ALONE.compute(made.measured(), {})[configuration])


def test_the_mean_over_ranks_the_median_over_replays_the_mean_over_launches() -> None:
    """Replays of 48 and 50, 50 and 50, 70 and 90 ms: 49, 50, 80, the median 50. With a launch of 60: 55, -+ 12.706 * 5 ms (Student t, 1
    degree).
    """
    made, _ = timed()
    replays(made, [(48, 50), (50, 50), (70, 90)])
    replays(made, [(60, 60)])
    found = estimated(COMM_ALONE.compute(made.measured(), {})["workers=2"])
    assert found.value == pytest.approx(0.055)
    assert found.launch_values == pytest.approx((0.050, 0.060))
    assert (found.low, found.high) == (0.0, pytest.approx(0.055 + 12.706 * 0.005, rel=1e-3))
    assert (found.n_launches, found.n_trials) == (2, 4)
    assert "comm_alone|by:replay" in found.signature


def test_a_launch_that_failed_is_no_replay() -> None:
    made, _ = timed()
    made.experiment = made.experiment.model_copy(
        update={"workload": made.experiment.workload.model_copy(update={"calibrate_communication": 1})}
    )
    replays(made, [(50, 50)], status="failed")
    assert "no launch that calibrates its communication succeeded" in absent(made).detail


def test_without_calibrating_it_is_absent_and_says_what_to_ask_for() -> None:
    made, _ = timed()
    found = absent(made)
    assert (found.reason, found.detail) == (
        "not_measured",
        "no launch calibrated its communication; add some: workload.calibrate_communication = 3",
    )
    assert absent(made, "workers=1").reason == "not_applicable"


def test_a_launch_whose_calls_cannot_be_made_again_says_so() -> None:
    made, _ = timed()
    replays(made, [])
    assert "were not replayed alone" in absent(made).detail


def test_partly_replayed_calls_give_no_time_alone() -> None:
    """The hooks see 1 call a step, torch lists 3: what was made again is a third of them."""
    made, (number,) = timed()
    replays(made, [(50, 50)])
    for rank in RANKS:
        for step in range(3):
            calls(made, number, rank, step, [(0, 10)])
            made.rows["inventory"].append((number, rank, 0, step, "0", "all_reduce", "float32", 2, 3, 3000, None))
    assert "lists 3 collectives a step but the hooks saw 1" in absent(made).detail


# ---- comm_hidden: alone less exposed, both of one launch and never of two. Worked out by hand.


def alone(made: Handmade, number: int, value_ms: float) -> None:
    """The launch's collectives, made again alone, took so long."""
    for rank in RANKS:
        told(made, number, rank, 6, "replay", None, total_ms=value_ms)


def hidden(made: Handmade, configuration: str = "workers=2") -> Value:
    return COMM_HIDDEN.compute(made.measured(), {})[configuration]


def test_communication_that_does_not_lengthen_a_step_is_hidden() -> None:
    """50 ms alone, steps of 100 with and 70 without: 20 hidden. 44 alone and 30 exposed in another launch: 14; the mean 17."""
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            told(made, number, rank, step, "group", 49.0)  # of a timed launch: never subtracted
    alone(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), 50.0)
    alone(made, in_turn(made, (90.0, 90.0), (60.0, 60.0)), 44.0)
    found = estimated(hidden(made))
    assert found.value == pytest.approx(0.017)
    assert found.launch_values == pytest.approx((0.020, 0.014))
    assert found.low == 0.0
    assert found.n_launches == 2
    assert "comm_hidden|by:unsynchronised" in found.signature
    assert "steps with and without synchronising" in found.method


def test_a_negative_value_is_raised_to_0_and_the_method_says_so() -> None:
    """24 ms alone and 30 exposed: contention or waiting for a slower rank is more than all that is hidden."""
    made, _ = timed()
    alone(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), 24.0)
    found = estimated(hidden(made))
    assert found.value == 0.0
    assert found.method.endswith("raised to 0 from below in 100.0% of them")


def test_two_launches_are_not_subtracted_from_one_another() -> None:
    """One has replays alone, the other steps in turn alone."""
    made, _ = timed()
    replays(made, [(50, 50)])
    in_turn(made, (100.0, 100.0), (70.0, 70.0))
    assert "terms of two launches are not subtracted" in absence(hidden(made)).detail


def test_where_no_step_goes_without_synchronising_it_is_absent() -> None:
    """As of FSDP: what the threads of the timed launches waited for is another way and another launch."""
    made, (number,) = timed()
    told(made, number, 0, 1, "group", 24.0)
    replays(made, [(50, 50)])
    found = absence(hidden(made))
    assert "no step ran without synchronising" in found.detail
    assert "alone" not in found.detail


def test_where_the_machine_is_too_busy_it_is_absent_and_says_what_was_seen() -> None:
    made, _ = timed()
    alone(made, noisy(made, 25.0), 50.0)
    found = absence(hidden(made))
    assert "are inconclusive: " in found.detail
    assert "no step ran without" not in found.detail


def test_without_calibrating_it_is_absent() -> None:
    made, _ = timed()
    assert "workload.calibrate_communication = 3" in absence(hidden(made)).detail
    assert absence(hidden(made, "workers=1")).reason == "not_applicable"


# ---- comm_contention: exposed communication beyond waiting, in one launch. Worked out by hand.


def contention(made: Handmade, configuration: str = "workers=2") -> Value:
    return COMM_CONTENTION.compute(made.measured(), {})[configuration]


def waited(made: Handmade, number: int, pair_ms: tuple[float | None, float | None]) -> None:
    """What the thread of each rank waited for, in every step of the launch that synchronises."""
    free = {row[3] for row in made.rows["communication"] if row[0] == number and row[4] == "unsynchronised"}
    for row in [row for row in made.rows["steps"] if row[0] == number and row[3] not in free]:
        told(made, number, row[1], row[3], "group", pair_ms[row[1]])


def test_contention_is_exposed_time_beyond_waiting() -> None:
    """Steps of 100 ms with and 70 without, of the 30 ms the threads waited for 22 and 26: 6. What launches under another load waited for
    (99) is not subtracted."""
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            told(made, number, rank, step, "group", 99.0)
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (22.0, 26.0))
    found = estimated(contention(made))
    assert found.value == pytest.approx(0.006)
    assert found.n_launches == 1
    assert "comm_contention|by:unsynchronised" in found.signature
    assert "less what the threads waited for in the same launch" in found.method


def test_each_launch_is_its_own_and_less_than_nothing_is_nothing() -> None:
    """30 - 24 = 6 and 20 - 22 = -2 ms, which is nothing: the mean of 6 and 0 is 3, and half of the launches were raised."""
    made, _ = timed()
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (24.0, 24.0))
    waited(made, in_turn(made, (90.0, 90.0), (70.0, 70.0)), (22.0, 22.0))
    found = estimated(contention(made))
    assert found.value == pytest.approx(0.003)
    assert found.launch_values == pytest.approx((0.006, 0.0))
    assert found.low == 0.0
    assert found.method.endswith("raised to 0 from below in 50.0% of them")


def test_where_a_gpu_computes_no_thread_waits() -> None:
    made, _ = timed()
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (None, None))
    assert absence(contention(made)).detail == "the waiting time of its threads in these steps was not recorded, as on a GPU"


def test_without_calibrating_it_is_absent_comm_contention() -> None:
    made, _ = timed()
    assert "workload.calibrate_communication = 3" in absence(contention(made)).detail
    assert absence(contention(made, "workers=1")).reason == "not_applicable"
