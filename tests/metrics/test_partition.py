"""partition: every nanosecond of every rank in one category, worked out by hand and for launches of any shape."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.metrics.partition import CATEGORIES, partition
from assay.record.tables import STEPS
from tests.handmade import Handmade, S


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
    made.rows["collectives"].append((
        0, rank, 0, "default", number, step, "all_reduce", 2, 8, "float32", "backward", None, begin, begin + round(length_s * S),
        None, None, None, "host",
    ))  # fmt: skip


def test_a_clean_launch_is_init_steps_and_idle() -> None:
    made = one()
    made.steps(0, seconds=[1.0] * 10, start_s=3.0, phases_s={"data": 0.25})
    made.event(0, "worker_start", 1.0, rank=0, incarnation=0)
    made.event(0, "worker_end", 13.5, rank=0, incarnation=0)
    assert of_rank(made) == {"init": 3.0, "productive": 7.5, "data_stall": 2.5, "unknown": 0.5, "idle": 6.5}


def test_what_the_first_step_takes_beyond_the_median_is_compile() -> None:
    made = one()
    made.steps(0, seconds=[5.0, 1.0, 1.0, 1.0], start_s=0.0)
    made.event(0, "worker_end", 8.0, rank=0, incarnation=0)
    assert of_rank(made) == {"compile": 4.0, "productive": 4.0, "idle": 12.0}


def test_waiting_for_a_slower_rank_is_told_from_communication() -> None:
    """Rank 0 is .5 s in each call, rank 1, which comes late, .2 s: of rank 0's .4 exposed, .3 is waiting."""
    made = one(workers=2, wall_s=4.0)
    for rank, length in ((0, 0.5), (1, 0.2)):
        made.steps(0, rank=rank, seconds=[1.0] * 4)
        for step in range(4):
            call(made, rank, step, step, step + 0.9 - length, length)
    exposed(made, 0.4)
    assert of_rank(made, 0) == {
        "productive": pytest.approx(2.4), "straggler_wait": pytest.approx(1.2), "exposed_communication": pytest.approx(0.4),
    }  # fmt: skip
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


def test_a_rank_that_marks_nothing_is_unknown() -> None:
    made = one(workers=2)
    assert of_rank(made, 1) == {"unknown": 20.0}
    made.steps(0, rank=0, seconds=[1.0])
    assert of_rank(made, 1) == {"unknown": 20.0}


@st.composite
def launches(draw: st.DrawFn) -> Handmade:
    """One launch of two ranks: up to three incarnations of each, with whatever an instrument may have seen of them."""
    made = one(workers=2, wall_s=200.0)
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
                    0, rank=rank, seconds=[length], first=step, start_s=now, incarnation=incarnation,
                    checkpoint_s=draw(st.none() | st.floats(0.0, length)), phases_s={"data": draw(st.floats(0.0, length))},
                )  # fmt: skip
                now += length + draw(st.sampled_from([0.0, 0.5]))
            for kind in draw(
                st.lists(st.sampled_from(["worker_gone", "worker_end", "fault", "fault_end"]), unique=True)
            ):
                made.event(0, kind, max(0.0, now + draw(st.floats(-2.0, 2.0))), rank=rank, incarnation=incarnation)
            for kind in draw(st.lists(st.sampled_from(["checkpoint_save", "evaluation"]), max_size=2)):
                made.event(
                    0, kind, draw(st.floats(0.0, now)), rank=rank, incarnation=incarnation, duration_s=draw(seconds)
                )
            now += draw(seconds)
    if draw(st.booleans()):
        exposed(made, draw(seconds))
    for number in range(draw(st.integers(0, 3))):
        for rank in (0, 1):
            call(made, rank, number, number, draw(seconds), draw(seconds))
    return made


@settings(deadline=None, max_examples=60)
@given(launches())
def test_the_categories_of_any_launch_sum_to_its_wall_time_and_none_is_negative(made: Handmade) -> None:
    measured = made.measured()
    parts = partition(measured, measured.table("launches"))
    assert parts["rank"].to_list() == [0, 1]
    assert parts.select(pl.sum_horizontal(*CATEGORIES) - pl.col("wall_ns")).to_series().to_list() == [0, 0]
    assert parts.select(pl.min_horizontal(*CATEGORIES).min()).item() >= 0
