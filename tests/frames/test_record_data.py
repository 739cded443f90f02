"""The folds that all metrics share: ranks into steps, restarts into what finally counted, warm-up out of the rest."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.frames.record_data import by_launch, effective_steps
from fireassay.frames.training import step_fold
from fireassay.record.declared import STEPS
from fireassay.record.slices import of_frame
from fireassay.spec.experiment import Scaling
from tests.builders import frame
from tests.handmade import Handmade
from tests.struck import struck

S = 1_000_000_000


# ---- ranks into steps


def test_the_slowest_rank_s_time_is_the_step_s_and_its_phases_are_the_step_s() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0], items=3.0, phases_s={"data": 0.1, "forward": 0.2})
    made.steps(number, rank=1, seconds=[2.0], start_s=0.5, items=5.0, phases_s={"data": 0.4, "forward": 0.6, "backward": 0.7})
    (row,) = made.measured().global_steps.iter_rows(named=True)
    assert (row["step_s"], row["fastest_s"], row["ranks"], row["items"]) == (2.0, 1.0, 2, 8.0)
    assert (row["data_s"], row["forward_s"], row["backward_s"], row["optimizer_s"]) == (0.4, 0.6, 0.7, None)
    assert row["unknown_s"] == pytest.approx(2.0 - 0.4 - 0.6 - 0.7)


def test_saving_a_checkpoint_is_no_training_time_and_may_change_who_is_slowest() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[3.0], checkpoint_s=2.5)
    made.steps(number, rank=1, seconds=[1.0])
    (row,) = made.measured().global_steps.iter_rows(named=True)
    assert (row["step_s"], row["fastest_s"]) == (1.0, 0.5)


def test_items_that_one_rank_did_not_count_are_not_counted() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0, 1.0], items=4.0)
    made.steps(number, rank=1, seconds=[1.0], items=4.0)
    made.steps(number, rank=1, seconds=[1.0], first=1)
    assert made.measured().global_steps["items"].to_list() == [8.0, None]


def test_launches_are_never_mixed() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for seconds in (1.0, 2.0):
        made.steps(made.launch(workers=1), seconds=[seconds] * 2)
    assert made.measured().global_steps.select("launch", "step", "step_s").rows() == [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 2.0), (1, 1, 2.0)]


def test_the_first_of_equally_slow_ranks_gives_the_phases() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=1, seconds=[1.0], phases_s={"data": 0.9})
    made.steps(number, rank=0, seconds=[1.0], phases_s={"data": 0.1})
    assert made.measured().global_steps["data_s"].to_list() == [0.1]


# ---- restarts into what finally counted


def test_after_a_restart_a_step_done_again_counts_in_its_last_version() -> None:
    """tests.struck: steps 0 to 6, killed, again from 4 to 7. Steps 4, 5 and 6 are those of the second start."""
    made = struck()
    made.rows["steps"] = [(*row[:5], row[5] - row[2] * S // 2, *row[6:]) for row in made.rows["steps"]]  # half as long the second time
    steps = made.measured().global_steps
    assert steps["step"].to_list() == list(range(8))
    assert steps["step_s"].to_list() == [1.0] * 4 + [0.5] * 4
    assert steps["ranks"].to_list() == [2] * 8


def test_a_step_that_only_some_ranks_reached_before_the_kill_counts_as_done_again() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="fault")
    made.steps(number, rank=0, seconds=[5.0, 5.0])
    made.steps(number, rank=1, seconds=[5.0])
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0], first=1, start_s=20.0, incarnation=1)
    assert made.measured().global_steps.select("step", "ranks", "step_s").rows() == [(0, 2, 5.0), (1, 2, 1.0)]


def test_a_restart_of_one_launch_leaves_the_others_alone() -> None:
    made = Handmade(levels=(1,), blocks=2)
    made.steps(made.launch(workers=1), seconds=[1.0, 1.0])
    again = made.launch(workers=1, role="fault")
    made.steps(again, seconds=[1.0])
    made.steps(again, seconds=[2.0], start_s=10.0, incarnation=1)
    assert made.measured().global_steps.select("launch", "step", "step_s").rows() == [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 2.0)]


# ---- warm-up out of the rest


def warm() -> Handmade:
    """One launch whose first 3 of 40 steps are slow, one without warm-up, one that failed and one fault launch."""
    made = Handmade(levels=(1,), blocks=2)
    made.steps(made.launch(workers=1), seconds=[9.0] * 3 + [1.0] * 37)
    made.steps(made.launch(workers=1, block=1), seconds=[1.0] * 40)
    made.steps(made.launch(workers=1, status="failed"), seconds=[1.0] * 40)
    made.steps(made.launch(workers=1, role="fault"), seconds=[1.0] * 40)
    return made


def test_warm_up_is_left_out_of_steady_steps_and_stays_in_the_record() -> None:
    measured = warm().measured()
    assert {launch: measured.steady[launch].warmup for launch in (0, 1)} == {0: 3, 1: 0}
    first = measured.steady_steps.group_by("launch").agg(pl.col("step").min(), pl.len()).sort("launch").rows()
    assert first == [(0, 3, 37), (1, 0, 40)]
    assert measured.global_steps.height == 160


def test_warm_up_counts_the_steps_that_are_there_and_not_their_numbers() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[9.0] * 3 + [1.0] * 37, first=100)
    assert made.measured().steady_steps["step"].min() == 103


def test_only_timed_launches_that_ended_well_are_timed() -> None:
    measured = warm().measured()
    assert measured.timed["launch"].to_list() == [0, 1]
    assert set(measured.steady_steps["launch"].to_list()) == {0, 1}


def test_without_any_step_the_folds_are_empty() -> None:
    measured = Handmade().measured()
    assert measured.global_steps.height == measured.steady_steps.height == 0
    assert measured.steady == {}
    assert set(warm().measured().steady_steps.columns) == set(measured.steady_steps.columns)


def test_configurations_are_ordered_by_worker_count() -> None:
    measured = Handmade(levels=(4, 1, 16, 2), scaling=Scaling(base=4)).measured()
    assert measured.configurations == ("workers=1", "workers=2", "workers=4", "workers=16")
    assert measured.base == "workers=4"


# ---- for any rows


@st.composite
def step_rows(draw: st.DrawFn) -> list[tuple[object, ...]]:
    """Steps of up to 3 launches, ranks, starts and steps; phases that fit into their step, or were not seen."""
    keys = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 5))
    rows: list[tuple[object, ...]] = []
    for launch, rank, incarnation, step in draw(st.lists(keys, unique=True, max_size=40)):
        begin, length = draw(st.integers(0, 10**12)), draw(st.integers(10, 10**9))
        phases = [draw(st.none() | st.integers(0, length // 5)) for _ in range(5)]
        items = draw(st.none() | st.integers(0, 512))
        rows.append((launch, rank, incarnation, step, begin, begin + length, *phases, None, items, "monotonic"))
    return rows


def fold_steps(steps: pl.DataFrame) -> pl.DataFrame:
    return step_fold.fold(of_frame(effective_steps(steps)).frames(step_fold.COLUMNS))


@pytest.mark.slow
@given(step_rows(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: list[tuple[object, ...]], numbers: Random) -> None:
    mixed = list(rows)
    numbers.shuffle(mixed)
    assert fold_steps(frame(STEPS.name, sorted(rows, key=repr))).equals(fold_steps(frame(STEPS.name, mixed)))


@pytest.mark.slow
@given(step_rows())
def test_no_rank_is_slower_than_the_step_and_none_faster_than_the_fastest(rows: list[tuple[object, ...]]) -> None:
    steps = frame(STEPS.name, rows)
    own = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
    joined = effective_steps(steps).with_columns(own.alias("own")).join(fold_steps(steps), on=["launch", "step"])
    assert joined.height == effective_steps(steps).height
    slowest, fastest = ((pl.col(name) * 1e9).round() for name in ("step_s", "fastest_s"))
    assert joined.filter((pl.col("own") > slowest) | (pl.col("own") < fastest)).height == 0


@pytest.mark.slow
@given(step_rows())
def test_the_phases_and_the_unknown_rest_are_the_step(rows: list[tuple[object, ...]]) -> None:
    for row in fold_steps(frame(STEPS.name, rows)).iter_rows(named=True):
        known = sum(row[f"{phase}_s"] or 0.0 for phase in ("data", "forward", "backward", "optimizer"))
        assert known + row["unknown_s"] == pytest.approx(row["step_s"], abs=1e-9)


@pytest.mark.slow
@given(step_rows())
def test_every_step_occurs_once_from_its_last_start(rows: list[tuple[object, ...]]) -> None:
    steps = frame(STEPS.name, rows)
    folded = fold_steps(steps)
    assert sorted(folded.select("launch", "step").rows()) == sorted({(row[0], row[3]) for row in rows})  # type: ignore[type-var]
    last: dict[tuple[object, object], int] = {}
    for row in rows:
        last[row[0], row[3]] = max(last.get((row[0], row[3]), 0), int(str(row[2])))
    counted = effective_steps(steps)
    assert all(last[launch, step] == start for launch, step, start in counted.select("launch", "step", "incarnation").rows())
    assert folded["ranks"].sum() == counted.height


def test_launches_are_found_in_rows_of_any_order() -> None:
    rows = pl.DataFrame({"launch": [10, 2, 10, 2, 3], "row": [0, 1, 2, 3, 4]})
    assert [own["row"].to_list() for own in by_launch(rows)] == [[1, 3], [4], [0, 2]]
    assert list(by_launch(rows.clear())) == []
