"""What does a fault cost a training: time and steps?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.training.recovery import recoveries
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.faults import (
    RECOVERY_TIME,
    RESTARTS,
    STEPS_LOST,
    TIME_TO_DETECT,
    TIME_TO_RECOMPUTE,
    TIME_TO_RELOAD,
    TIME_TO_RESTART,
    windows,
)
from tests.handmade import Handmade, S
from tests.metrics.clocks_made import on_two_hosts
from tests.metrics.narrow import absence, estimated
from tests.struck import struck


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (RECOVERY_TIME, 8.0),
        (TIME_TO_DETECT, 0.5),
        (TIME_TO_RESTART, 3.5),
        (TIME_TO_RELOAD, 1.0),
        (TIME_TO_RECOMPUTE, 3.0),
        (STEPS_LOST, 3.0),
    ],
)
def test_it_is_read_off_the_timeline(metric: Metric, expected: float) -> None:
    assert estimated(metric.compute(struck().measured(), {})["workers=2"]).value == pytest.approx(expected)


# ---- recovery_time of a fault launch whose every instant was written by hand (tests/struck.py).


@pytest.mark.parametrize(
    "metric",
    [RECOVERY_TIME, TIME_TO_DETECT, TIME_TO_RESTART, TIME_TO_RELOAD, TIME_TO_RECOMPUTE, STEPS_LOST],
    ids=lambda metric: metric.name,
)
def test_without_a_fault_launch_it_is_absent(metric: Metric) -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(metric.compute(made.measured(), {})["workers=2"], Absent)


@pytest.mark.parametrize(
    "metric", [RECOVERY_TIME, TIME_TO_RESTART, TIME_TO_RELOAD, TIME_TO_RECOMPUTE, STEPS_LOST], ids=lambda metric: metric.name
)
def test_a_job_that_never_trained_again_has_none(metric: Metric) -> None:
    assert absence(metric.compute(struck(recovers=False).measured(), {})["workers=2"]).reason == "undefined"


def test_its_four_parts_sum_to_it() -> None:
    measured = struck().measured()
    parts = [metric.compute(measured, {})["workers=2"] for metric in (TIME_TO_DETECT, TIME_TO_RESTART, TIME_TO_RELOAD, TIME_TO_RECOMPUTE)]
    assert sum(part.value for part in parts if isinstance(part, Estimate)) == pytest.approx(8.0)


def test_a_job_that_needed_a_second_restart_is_followed_to_the_one_that_trained() -> None:
    """The workers of the first restart never reached a step: as `struck`, with incarnation 2 for 1."""
    made = struck()
    for table, place in (("steps", 2), ("events", 5)):
        made.rows[table] = [(*row[:place], 2, *row[place + 1 :]) if row[place] == 1 else row for row in made.rows[table]]
    made.event(0, "worker_start", 12.0, rank=0, incarnation=1)
    assert estimated(RECOVERY_TIME.compute(made.measured(), {})["workers=2"]).value == pytest.approx(8.0)


def twice() -> Handmade:
    """As `struck`, and struck again at 17.2 s, in step 6; noticed at 17.5, up at 18, from step 5 again at 19, which is over at 20; 6 at
    21.
    """
    made = struck()
    made.rows["launches"][0] = (*made.rows["launches"][0][:10], 25 * S, *made.rows["launches"][0][11:])
    made.rows["steps"] = [row for row in made.rows["steps"] if not (row[2] == 1 and row[3] > 5)]
    made.event(0, "fault", 17.2, rank=1, incarnation=1, step=6)
    for rank in (0, 1):
        made.event(0, "worker_gone", 17.2 + 0.3 * (rank == 0), rank=rank, incarnation=1)
        made.event(0, "worker_start", 18.0, rank=rank, incarnation=2)
        made.steps(0, rank=rank, seconds=[1.0] * 3, first=5, start_s=19.0, incarnation=2)
    return made


def test_each_of_two_strikes_has_its_recovery_and_the_launch_their_mean() -> None:
    """Step 6, the last before the first fault, is reached again at 21 s: 11 s; step 5, the last before the second, at 20 s: 2.8 s."""
    measured = twice().measured()
    assert [((one.regained_ns or 0) - one.fault_ns) / S for one in recoveries(measured)] == [11.0, pytest.approx(2.8)]
    value = estimated(RECOVERY_TIME.compute(measured, {})["workers=2"])
    assert (value.value, value.n_launches, value.n_trials) == (pytest.approx(6.9), 1, 2)
    assert STEPS_LOST.compute(measured, {})["workers=2"].value == 4.0  # type: ignore[union-attr]
    assert RESTARTS.compute(measured, {})["workers=2"].value == 2.0  # type: ignore[union-attr]
    assert windows(measured) == {0: ((10 * S, 21 * S),)}  # one time of trouble: struck again before it had recovered


def test_a_fault_before_the_first_step_loses_none() -> None:
    """Killed at 2 s, up again at 5, first step at 9 s: 7 s."""
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2, role="fault", wall_s=20.0)
    made.event(0, "fault", 2.0, rank=1, incarnation=0, step=0)
    for rank in (0, 1):
        made.event(0, "worker_gone", 2.0 + (rank == 0), rank=rank, incarnation=0)
        made.event(0, "worker_start", 5.0, rank=rank, incarnation=1)
        made.steps(0, rank=rank, seconds=[1.0] * 4, start_s=9.0, incarnation=1)
    assert estimated(RECOVERY_TIME.compute(made.measured(), {})["workers=2"]).value == pytest.approx(7.0)
    assert STEPS_LOST.compute(made.measured(), {})["workers=2"].value == 0.0  # type: ignore[union-attr]


def test_a_fault_launch_that_was_interrupted_does_not_enter() -> None:
    made = struck()
    row = made.rows["launches"][0]
    made.rows["launches"][0] = (*row[:12], "aborted", *row[13:])
    assert isinstance(RECOVERY_TIME.compute(made.measured(), {})["workers=2"], Absent)


def test_a_strike_that_missed_its_victim_is_no_fault() -> None:
    made = struck()
    made.rows["events"] = [row for row in made.rows["events"] if row[6] != "fault"]
    made.event(0, "fault", 10.0, rank=1, incarnation=0, step=7, detail={"pid": 42})
    made.event(0, "fault_missed", 10.0, rank=1, detail={"pid": 42})
    assert RECOVERY_TIME.compute(made.measured(), {})["workers=2"].reason == "not_measured"  # type: ignore[union-attr]


@pytest.mark.parametrize("there_s", [-300.0, 0.004, 5.0])
def test_hosts_whose_clocks_differ_are_put_on_one(there_s: float) -> None:
    """8 s as on one host, within the bound; the coordinator ran next to rank 0."""
    value = estimated(RECOVERY_TIME.compute(on_two_hosts(there_s, looks=40).measured(), {})["workers=2"])
    assert value.value == pytest.approx(8.0, abs=2e-4)


@pytest.mark.slow
def test_hosts_with_uncompared_clocks_have_no_recovery_time() -> None:
    """A clock 300 s behind would make it 8 s or nothing, by chance."""
    value = absence(RECOVERY_TIME.compute(on_two_hosts(-300.0, looks=0).measured(), {})["workers=2"])
    assert value.reason == "refused"
    assert "there" in value.detail


# ---- time_to_detect of a fault launch whose every instant was written by hand (tests/struck.py).


@pytest.mark.slow
def test_one_worker_has_no_peer_that_shows_the_detection() -> None:
    assert absence(TIME_TO_DETECT.compute(struck(workers=1).measured(), {})["workers=1"]).reason == "not_applicable"


# ---- time_to_reload of a fault launch whose every instant was written by hand (tests/struck.py).


def test_it_is_never_negative() -> None:
    """A rank that says only after the first step of another that it has started."""
    made = struck()
    made.event(0, "worker_start", 15.2, rank=1, incarnation=1)
    assert estimated(TIME_TO_RELOAD.compute(made.measured(), {})["workers=2"]).value == 0.0


# ---- time_to_recompute of a fault launch whose every instant was written by hand (tests/struck.py).


def test_a_launch_that_lost_nothing_leaves_the_interval_to_the_others() -> None:
    """0, 3 and 3 s: their mean is 2 s, and one launch without loss makes no exact count of it."""
    made = Handmade(levels=(2,), blocks=1)
    for lost in (0, 3, 3):
        number = made.launch(workers=2, role="fault", wall_s=20.0)
        for rank in range(2):
            made.steps(number, rank=rank, seconds=[1.0] * 7)
            made.steps(number, rank=rank, seconds=[1.0] * 4, first=7 - lost, start_s=10.0, incarnation=1)
        made.event(number, "fault", 7.5, rank=1, incarnation=0, step=7)
    value = estimated(TIME_TO_RECOMPUTE.compute(made.measured(), {})["workers=2"])
    assert value.value == pytest.approx(2.0)
    assert value.low < 2.0 < value.high


def test_where_nothing_was_lost_it_is_zero() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="fault", wall_s=20.0)
    made.steps(number, seconds=[1.0] * 7)
    made.steps(number, seconds=[1.0] * 4, first=7, start_s=10.0, incarnation=1)
    made.event(number, "fault", 7.5, rank=1, incarnation=0, step=7)
    value = estimated(TIME_TO_RECOMPUTE.compute(made.measured(), {})["workers=2"])
    assert (value.low, value.value, value.high) == (0.0, 0.0, 0.0)


# ---- steps_lost of a fault launch whose every instant was written by hand (tests/struck.py).


def test_a_step_that_a_survivor_finished_before_the_engine_stopped_it_is_lost_too() -> None:
    """Its row died with it; the coordinator read 8 finished steps off its progress."""
    made = struck()
    made.event(0, "worker_gone", 10.5, rank=0, incarnation=0, step=8)
    assert estimated(STEPS_LOST.compute(made.measured(), {})["workers=2"]).value == 4.0


def test_steps_whose_rows_died_with_the_victim_are_counted_from_what_the_coordinator_saw() -> None:
    made = struck(workers=1)
    made.rows["steps"] = [row for row in made.rows["steps"] if row[2] == 1 or row[3] < 5]  # steps 5 and 6 never got to the disk
    assert estimated(STEPS_LOST.compute(made.measured(), {})["workers=1"]).value == 3.0


# ---- restarts: the highest incarnation of any rank, over the whole job.


def test_the_rank_that_was_restarted_most_counts() -> None:
    made = struck()
    made.event(0, "worker_start", 16.0, rank=1, incarnation=3)  # of another node, whose engine counts for itself
    value = estimated(RESTARTS.compute(made.measured(), {})["workers=2"])
    assert (value.value, value.low, value.high) == (3.0, 3.0, 3.0)


def test_without_a_fault_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(RESTARTS.compute(made.measured(), {})["workers=2"], Absent)
