"""partition: every nanosecond of every rank in one category, worked out by hand and for launches of any shape."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.frames import record_data
from fireassay.frames.training.rank_time import CATEGORIES, partition
from fireassay.record.declared import STEPS
from tests.handmade import Handmade, S

pytestmark = pytest.mark.slow


def of_rank(made: Handmade, rank: int = 0) -> dict[str, float]:
    """The seconds of a rank by category, without those that are 0."""
    measured = made.measured()
    row = partition(measured, measured.table("launches")).filter(rank=rank).row(0, named=True)
    assert sum(row[name] for name in CATEGORIES) == row["wall_ns"]
    return {name: row[name] / S for name in CATEGORIES if row[name]}


def one(workers: int = 1, wall_s: float = 20.0) -> Handmade:
    made = Handmade(levels=(workers,), blocks=1)
    made.launch(workers=workers, wall_s=wall_s)
    return made


def exposed(made: Handmade, seconds: float) -> None:
    """Every step says that it had so much exposed communication."""
    place = STEPS.column_names.index("exposed_comm_ns")
    made.rows["steps"] = [(*row[:place], round(seconds * S), *row[place + 1 :]) for row in made.rows["steps"]]


def call(made: Handmade, rank: int, number: int, step: int, begin_s: float, length_s: float) -> None:
    begin = round(begin_s * S)
    made.rows["collectives"].append(
        (
            0,
            rank,
            0,
            "default",
            number,
            step,
            "all_reduce",
            2,
            8,
            "float32",
            "backward",
            None,
            begin,
            begin + round(length_s * S),
            None,
            None,
            None,
            "host",
        )
    )


def test_a_clean_launch_is_init_steps_and_idle() -> None:
    made = one()
    made.steps(0, seconds=[1.0] * 10, start_s=3.0, phases_s={"data": 0.25})
    made.event(0, "worker_start", 1.0, rank=0, incarnation=0)
    made.event(0, "worker_end", 13.5, rank=0, incarnation=0)
    assert of_rank(made) == {"init": 3.0, "productive": 7.5, "data_stall": 2.5, "unknown": 0.5, "idle": 6.5}


def test_the_first_steps_time_beyond_the_median_is_compile() -> None:
    made = one()
    made.steps(0, seconds=[5.0, 1.0, 1.0, 1.0], start_s=0.0)
    made.event(0, "worker_end", 8.0, rank=0, incarnation=0)
    assert of_rank(made) == {"compile": 4.0, "productive": 4.0, "idle": 12.0}


def test_waiting_for_a_slower_rank_is_separated_from_communication() -> None:
    """Rank 0 is .5 s in each call, rank 1, which comes late, .2 s: of rank 0's .4 exposed, .3 is waiting."""
    made = one(workers=2, wall_s=4.0)
    for rank, length in ((0, 0.5), (1, 0.2)):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        for step in range(4):
            call(made, rank, step, step, step + 0.9 - length, length)
    exposed(made, 0.4)
    assert of_rank(made, 0) == {
        "productive": pytest.approx(2.4),
        "straggler_wait": pytest.approx(1.2),
        "exposed_communication": pytest.approx(0.4),
    }
    assert of_rank(made, 1) == {"productive": pytest.approx(2.4), "exposed_communication": pytest.approx(1.6)}


def test_checkpoints_and_evaluations_inside_of_steps_between_them_and_after_the_last() -> None:
    made = one()
    made.steps(0, seconds=[2.0, 2.0], start_s=0.0, checkpoint_s=0.5)
    made.steps(0, seconds=[2.0], first=2, start_s=6.0, checkpoint_s=0.5)
    for at, kind, length in (
        (1.0, "checkpoint_save", 0.5),
        (3.0, "evaluation", 0.5),
        (4.5, "evaluation", 1.0),
        (8.0, "checkpoint_save", 2.0),
    ):
        made.event(0, kind, at, rank=0, incarnation=0, duration_s=length)
    made.event(0, "worker_end", 11.0, rank=0, incarnation=0)
    # 3 x .5 of pauses, 2 s between the second and the third step, 3 s after it: 2.5 checkpoint, 1.5 evaluation, rest unknown
    assert of_rank(made) == {"productive": 4.5, "checkpoint": 2.5, "evaluation": 1.5, "unknown": 2.5, "idle": 9.0}


def test_a_job_that_loses_no_step_still_pays_for_its_restart() -> None:
    """A checkpoint after every step: no step number repeats."""
    made = one(workers=2, wall_s=12.0)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        made.steps(0, rank=rank, seconds=[1.0] * 3, first=4, start_s=9.0, incarnation=1)
        made.event(0, "worker_gone", 4.0 if rank else 5.0, rank=rank, incarnation=0)
        made.event(0, "worker_start", 7.0, rank=rank, incarnation=1)
    made.event(0, "fault", 4.0, rank=1, incarnation=0)
    for rank in (0, 1):
        assert of_rank(made, rank) == {"productive": 7.0, "detect": 1.0, "restart": 2.0, "reload": 2.0}


def test_a_stopped_rank_idles_and_the_others_wait_for_it() -> None:
    made = one(workers=2, wall_s=12.0)
    made.steps(0, rank=0, seconds=[1.0, 1.0, 4.0, 1.0, 1.0])
    made.steps(0, rank=1, seconds=[1.0, 1.0, 4.0, 1.0, 1.0])
    made.event(0, "fault", 2.5, rank=1, incarnation=0)
    made.event(0, "fault_end", 5.5, rank=1, incarnation=0)
    for rank in (0, 1):
        made.event(0, "worker_end", 8.0, rank=rank, incarnation=0)
    assert of_rank(made, 0) == {"productive": 5.0, "straggler_wait": 3.0, "idle": 4.0}
    assert of_rank(made, 1) == {"productive": 5.0, "idle": 3.0 + 4.0}


def ended_badly(made: Handmade, status: str) -> None:
    row = made.rows["launches"][0]
    made.rows["launches"][0] = (*row[:12], status, *row[13:])


def test_a_fault_before_the_first_step_is_no_longer_start_up() -> None:
    """Killed at 3 s, before any step; noticed at 4, up again at 6, first step at 9."""
    made = one(workers=2, wall_s=12.0)
    made.event(0, "fault", 3.0, rank=1, incarnation=0, step=0)
    for rank in (0, 1):
        made.event(0, "worker_start", 1.0, rank=rank, incarnation=0)
        made.event(0, "worker_gone", 3.0 + (rank == 0), rank=rank, incarnation=0)
        made.event(0, "worker_start", 6.0, rank=rank, incarnation=1)
        made.steps(0, rank=rank, seconds=[1.0] * 3, start_s=9.0, incarnation=1)
    for rank in (0, 1):
        assert of_rank(made, rank) == {"init": 3.0, "detect": 1.0, "restart": 2.0, "reload": 3.0, "productive": 3.0}


def test_a_rank_that_was_gone_before_it_could_say_that_it_began_did_not_begin_late() -> None:
    """Rank 0 is killed at 3 s, before rank 1's first word; the end of rank 1 was not recorded, so the restart begins at once."""
    made = one(workers=2, wall_s=12.0)
    made.event(0, "worker_start", 1.0, rank=0, incarnation=0)
    made.event(0, "fault", 3.0, rank=0, incarnation=0, step=0)
    made.event(0, "worker_gone", 3.0, rank=0, incarnation=0)
    for rank in (0, 1):
        made.event(0, "worker_start", 6.0, rank=rank, incarnation=1)
        made.steps(0, rank=rank, seconds=[1.0] * 3, start_s=9.0, incarnation=1)
    for rank in (0, 1):
        assert of_rank(made, rank) == {"init": 3.0, "restart": 3.0, "reload": 3.0, "productive": 3.0}


def test_workers_that_fail_again_when_they_start_again_are_restarted_twice() -> None:
    """Steps until 4 s, killed then; incarnation 1 is there from 6 to 8 s and never trains; incarnation 2 from 9 s, its first step at 11."""
    made = one(workers=2, wall_s=13.0)
    made.event(0, "fault", 4.0, rank=1, incarnation=0, step=4)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        made.event(0, "worker_gone", 4.0 + (rank == 0), rank=rank, incarnation=0)
        made.event(0, "worker_start", 6.0, rank=rank, incarnation=1)
        made.event(0, "worker_gone", 8.0 + 0.5 * rank, rank=rank, incarnation=1)
        made.event(0, "worker_start", 9.0, rank=rank, incarnation=2)
        made.steps(0, rank=rank, seconds=[1.0] * 2, first=4, start_s=11.0, incarnation=2)
    # detect 4-5 and 8-8.5, restart 5-6 and 8.5-9, reload 6-8 and 9-11
    for rank in (0, 1):
        assert of_rank(made, rank) == {"productive": 6.0, "detect": 1.5, "restart": 1.5, "reload": 4.0}


def test_a_job_that_never_came_back_was_not_idle_before_it_was_noticed() -> None:
    """Incarnation 1 was the last that was allowed: from 6 s until 8 s, seen by the other's end at 8.5."""
    made = one(workers=2, wall_s=10.0)
    ended_badly(made, "failed")
    made.event(0, "fault", 4.0, rank=1, incarnation=0, step=4)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        made.event(0, "worker_gone", 4.0 + (rank == 0), rank=rank, incarnation=0)
        made.event(0, "worker_start", 6.0, rank=rank, incarnation=1)
        made.event(0, "worker_gone", 8.0 + 0.5 * rank, rank=rank, incarnation=1)
    for rank in (0, 1):
        assert of_rank(made, rank) == {"productive": 4.0, "detect": 1.5, "restart": 1.0, "reload": 2.0, "idle": 1.5}


def test_a_rank_that_was_stopped_and_never_went_on_keeps_the_other_waiting_until_the_launch_is_ended() -> None:
    made = one(workers=2, wall_s=12.0)
    ended_badly(made, "timeout")
    made.event(0, "fault", 4.5, rank=1, incarnation=0, detail={"fault": "stop"})
    made.event(0, "fault_end", 11.0, rank=1, detail={"at_end": True})
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        made.event(0, "worker_gone", 11.0, rank=rank, incarnation=0)
    assert of_rank(made, 0) == {"productive": 4.0, "unknown": 0.5, "straggler_wait": 6.5, "idle": 1.0}
    assert of_rank(made, 1) == {"productive": 4.0, "unknown": 0.5, "idle": 7.5}


def test_a_stop_that_the_engine_did_not_wait_for_touches_no_step_of_the_next_workers() -> None:
    """Stopped for 10 s; the others gave up after 2, and all were started again. Its first step is as slow as ever: not idle."""
    made = one(workers=2, wall_s=14.0)
    made.event(0, "fault", 3.0, rank=1, incarnation=0, detail={"fault": "stop"})
    made.event(0, "fault_end", 13.0, rank=1)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0] * 3)
        made.event(0, "worker_gone", 5.0 + (rank == 1), rank=rank, incarnation=0)
        made.event(0, "worker_start", 7.0, rank=rank, incarnation=1)
        made.steps(0, rank=rank, seconds=[3.0, 1.0, 1.0, 1.0], first=3, start_s=8.0, incarnation=1)
    for rank in (0, 1):
        assert of_rank(made, rank) == {"productive": 7.0, "compile": 2.0, "detect": 2.0, "restart": 2.0, "reload": 1.0}


def test_a_stop_that_passed_is_not_the_begin_of_a_later_failure() -> None:
    """Stopped from 1 s to 2 s; rank 0 fails by itself at 6 s, in the middle of a step."""
    made = one(workers=2, wall_s=12.0)
    made.event(0, "fault", 1.0, rank=1, incarnation=0, detail={"fault": "stop"})
    made.event(0, "fault_end", 2.0, rank=1)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0, 2.0, 1.0, 1.0])
        made.event(0, "worker_gone", 6.0 + rank, rank=rank, incarnation=0)
        made.event(0, "worker_start", 8.0, rank=rank, incarnation=1)
        made.steps(0, rank=rank, seconds=[1.0, 1.0], first=4, start_s=10.0, incarnation=1)
    told = {"productive": 6.0, "recompute": 1.0, "detect": 1.0, "restart": 1.0, "reload": 2.0}
    assert of_rank(made, 0) == {**told, "straggler_wait": 1.0}
    assert of_rank(made, 1) == {**told, "idle": 1.0}


@pytest.mark.parametrize(
    ("kind", "category", "victims"), [("slow", "straggler_wait", "idle"), ("throttle", "exposed_communication", "exposed_communication")]
)
def test_time_added_by_a_fault_is_found_wherever_a_rank_waited(kind: str, category: str, victims: str) -> None:
    """Steps of 1 s, of which .2 s is exposed; one step of 4 s, of which 3.2 s is: the 3 s more are the fault's, on the victim too."""
    made = one(workers=2, wall_s=9.0)
    made.event(0, "fault", 2.5, rank=1, incarnation=0, detail={"fault": kind})
    made.event(0, "fault_end", 5.5, rank=1)
    place = STEPS.column_names.index("exposed_comm_ns")
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0, 1.0, 4.0, 1.0, 1.0, 1.0])
    made.rows["steps"] = [(*row[:place], round((3.2 if row[3] == 2 else 0.2) * S), *row[place + 1 :]) for row in made.rows["steps"]]
    usual = {"productive": pytest.approx(4.8), "exposed_communication": pytest.approx(1.2)}
    for rank, name in ((0, category), (1, victims)):
        more = {name: pytest.approx(3.0 + (1.2 if name in usual else 0.0))}
        assert of_rank(made, rank) == {**usual, **more}


def test_calls_that_overlap_are_not_waited_for_twice() -> None:
    """Two calls under way at once, each .3 s longer than on the late rank: .3 s of waiting, not .6; the other .3 s is exposed."""
    made = one(workers=2, wall_s=2.0)
    for rank, length in ((0, 0.5), (1, 0.2)):
        made.steps(0, rank=rank, seconds=[1.0] * 2)
        for step in range(2):
            for number in (0, 1):
                call(made, rank, 2 * step + number, step, step + 0.9 - length, length)
    exposed(made, 0.6)
    found = of_rank(made, 0)
    assert found["straggler_wait"] == pytest.approx(0.6)
    assert found["exposed_communication"] == pytest.approx(0.6)


def test_ddps_own_log_gives_exposed_time_without_hooks() -> None:
    made = one(wall_s=2.0)
    made.steps(0, seconds=[1.0] * 2)
    made.rows["communication"] = [(0, 0, 0, step, "ddp_logging", None, round(0.25 * S), None, None) for step in (0, 1)]
    assert of_rank(made) == {"productive": 1.5, "exposed_communication": 0.5}


def test_a_rank_that_marks_nothing_is_unknown() -> None:
    made = one(workers=2)
    assert of_rank(made, 1) == {"unknown": 20.0}
    made.steps(0, rank=0, seconds=[1.0])
    assert of_rank(made, 1) == {"unknown": 20.0}


@st.composite
def launches(draw: st.DrawFn) -> Handmade:
    """One launch of two ranks: up to three incarnations of each, with whatever an instrument may have seen of them."""
    made = one(workers=2, wall_s=draw(st.sampled_from([10.0, 200.0])))  # 10: clocks of hosts may put steps after the launch's end
    ended_badly(made, draw(st.sampled_from(["ok", "failed", "timeout"])))
    kinds = st.sampled_from(["kill", "stop", "throttle"])
    seconds = st.floats(0.0, 3.0, allow_nan=False)
    for rank in (0, 1):
        now = draw(seconds)
        for incarnation in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                made.event(0, "worker_start", now, rank=rank, incarnation=incarnation)
            now += draw(seconds)
            for step in range(draw(st.integers(0, 4))):
                length = draw(seconds)
                made.steps(
                    0,
                    rank=rank,
                    seconds=[length],
                    first=step,
                    start_s=now,
                    incarnation=incarnation,
                    checkpoint_s=draw(st.none() | st.floats(0.0, length)),
                    phases_s={"data": draw(st.floats(0.0, length))},
                )
                now += length + draw(st.sampled_from([0.0, 0.5]))
            for kind in draw(st.lists(st.sampled_from(["worker_gone", "worker_end", "fault", "fault_end"]), unique=True)):
                told = {"fault": draw(kinds), "at_end": draw(st.booleans())}
                made.event(0, kind, max(0.0, now + draw(st.floats(-2.0, 2.0))), rank=rank, incarnation=incarnation, detail=told)
            for kind in draw(st.lists(st.sampled_from(["checkpoint_save", "evaluation"]), max_size=2)):
                made.event(0, kind, draw(st.floats(0.0, now)), rank=rank, incarnation=incarnation, duration_s=draw(seconds))
            now += draw(seconds)
    if draw(st.booleans()):
        exposed(made, draw(seconds))
    for number in range(draw(st.integers(0, 3))):
        for rank in (0, 1):
            call(made, rank, number, number, draw(seconds), draw(seconds))
    return made


@given(launches())
def test_the_categories_of_any_launch_sum_to_its_wall_time_and_none_is_negative(made: Handmade) -> None:
    measured = made.measured()
    parts = partition(measured, measured.table("launches"))
    assert parts["rank"].to_list() == [0, 1]
    assert parts.select(pl.sum_horizontal(*CATEGORIES) - pl.col("wall_ns")).to_series().to_list() == [0, 0]
    assert parts.select(pl.min_horizontal(*CATEGORIES).min()).item() >= 0


@given(launches())
def test_ranks_one_at_a_time_spend_what_they_spend_together(made: Handmade) -> None:
    whole = partition(made.measured(), made.measured().table("launches"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_data, "PORTION", 1)
        assert partition(made.measured(), made.measured().table("launches")).equals(whole)
