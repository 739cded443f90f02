"""Costs that no row of a step shows are named, at 2 and 4 workers; the same trainings without them stay without a finding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.parallel_made import told

MIB = 2**20
MS = 1_000_000
STEPS = 160
WORKERS = pytest.mark.parametrize("workers", [2, 4])


def said(audit: str, measured: RecordData) -> list[Finding]:
    return list(catalog.load("verdict.audits", audit).examine(measured, {}))


def noisy(seconds: Callable[[int], float], seed: int) -> list[float]:
    """With a tenth of noise, and one step in twenty three times as long."""
    numbers = random.Random(seed)
    return [seconds(step) * numbers.uniform(0.95, 1.05) * (3.0 if numbers.random() < 0.05 else 1.0) for step in range(STEPS)]


def trained(workers: int, seconds: Callable[[int], float] = lambda step: 0.02, blocks: int = 2, items: float | None = 8.0) -> Handmade:
    made = Handmade(levels=(1, workers), blocks=blocks)
    for block in range(blocks):
        for level in (1, workers):
            number = made.launch(workers=level, block=block, wall_s=60.0)
            for rank in range(level):
                made.steps(number, rank=rank, seconds=noisy(seconds, 10 * block + level), items=items)
    return made


# ---- what grows --------------------------------------------------------------------------------------------------------


@WORKERS
def test_a_step_that_grows_is_named_with_its_growth(workers: int) -> None:
    """From 20 to 56 ms over 160 steps: the medians of the first and last eighth lie 10 steps from the ends."""
    found = said("growing_steps", trained(workers, lambda step: 0.02 + 0.036 * step / STEPS).measured())
    assert [one.configuration for one in found] == ["workers=1", f"workers={workers}"]
    assert found[0].evidence.startswith("a step grows from 22") or found[0].evidence.startswith("a step grows from 23")
    assert "2 of 2 launches" in found[0].evidence


@WORKERS
@pytest.mark.parametrize("seed", range(5))
def test_steps_that_only_vary_or_shrink_or_jump_back_do_not_grow(workers: int, seed: int) -> None:
    numbers = random.Random(seed)
    level = [numbers.uniform(0.018, 0.024) for _ in range(8)]
    assert said("growing_steps", trained(workers, lambda step: level[step // 20]).measured()) == []
    assert said("growing_steps", trained(workers, lambda step: 0.05 - 0.03 * step / STEPS).measured()) == []


def test_batches_that_grow_may_take_longer() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    for step in range(STEPS):
        made.steps(number, seconds=[0.02 + 1e-4 * step], first=step, start_s=float(step), items=8.0 + step // 8)
    assert said("growing_steps", made.measured()) == []


def remembered(workers: int, sizes: Sequence[float]) -> RecordData:
    """Memory in MiB after 16, 32, 64, 128 and 160 steps, on the last rank; the others keep theirs."""
    made = trained(workers, blocks=1)
    number = len(made.begin) - 1
    for step, size in zip((16, 32, 64, 128, 160), sizes, strict=True):
        for rank in range(workers):
            value = size if rank == workers - 1 else 300.0
            made.event(number, "memory", step * 0.02, rank=rank, incarnation=0, step=step, value=value * MIB)
    return made.measured()


@WORKERS
def test_memory_that_grows_with_each_step_is_named_with_its_rate(workers: int) -> None:
    (found,) = said("growing_memory", remembered(workers, [300.0 + 4.0 * step for step in (16, 32, 64, 128, 160)]))
    assert found.configuration == f"workers={workers}"
    assert found.evidence.startswith(f"rank {workers - 1} keeps 4.19 MB more with every step")


@pytest.mark.parametrize("sizes", [(300, 400, 450, 460, 461), (300, 301, 302, 303, 304), (300, 500, 400, 500, 600), (300,) * 5])
def test_caches_that_fill_and_memory_that_stays_are_no_growth(sizes: Sequence[float]) -> None:
    assert said("growing_memory", remembered(2, sizes)) == []


# ---- threads -----------------------------------------------------------------------------------------------------------


def threaded(workers: int, threads: int, processors: int = 2) -> RecordData:
    made = trained(workers, blocks=1)
    made.manifest["environment"] = {"before": {"cpu": {"usable": {"count": processors}}}}
    for number, level in ((0, 1), (1, workers)):
        for rank in range(level):
            made.reading(number, f"rank-{rank}/torch", "threads", float(threads), unit="count", method="self")
    return made.measured()


@WORKERS
def test_eight_threads_on_two_processors_are_named(workers: int) -> None:
    found = said("threads", threaded(workers, 8))
    assert [one.configuration for one in found] == ["workers=1", f"workers={workers}"]
    assert f"a rank computes with 8 threads, all ranks with {8 * workers}, on 2 usable processors" in found[1].evidence


def test_one_thread_a_rank_or_enough_processors_are_not() -> None:
    assert said("threads", threaded(4, 1)) == []
    assert said("threads", threaded(4, 8, processors=32)) == []


# ---- calls for a few bytes ---------------------------------------------------------------------------------------------


def calling(
    workers: int,
    *,
    op: str = "all_reduce",
    calls: int = 1,
    every: int = 1,
    blocked_ms: float = 4.0,
    nbytes: int = 4,
    late_ms: float = 0.0,
    gradients: bool = True,
) -> RecordData:
    """Steps of 20 ms that hold blocking calls, in which every rank but the last waits."""
    made = Handmade(levels=(1, workers), blocks=1)
    made.steps(made.launch(workers=1, wall_s=60.0), seconds=[0.04] * STEPS)
    number = made.launch(workers=workers, wall_s=60.0)
    for rank in range(workers):
        made.steps(number, rank=rank, seconds=[0.02] * STEPS)
        for step in range(STEPS if gradients else 0):  # a reducer's bucket, which blocks nobody
            begin = made.begin[number] + step * 20 * MS
            what = ("all_reduce", workers, 1 << 16, "float32", "", None, begin, begin + MS, None, None, None, "host")
            made.rows["collectives"].append((number, rank, 0, "1", step, step, *what))
        for call in range(0, STEPS * calls, every * calls):
            step, begin = call // calls, made.begin[number] + call * 20 * MS // calls
            for more in range(calls):
                blocked = round(blocked_ms * MS / calls) + (round(late_ms * MS) if rank < workers - 1 else 0)
                what = (op, workers, 0 if op == "barrier" else nbytes, "float32", "", None, begin, begin + blocked, blocked)
                made.rows["collectives"].append((number, rank, 0, "0", call + more, step, *what, None, None, "host"))
    return made.measured()


@WORKERS
def test_a_collective_for_logging_in_each_step_is_named_with_its_cost(workers: int) -> None:
    """4 of 20 ms."""
    (found,) = said("small_collectives", calling(workers))
    assert found.evidence == (
        "every step makes a blocking call (all_reduce of at most 4 B), which take 4 ms, 20 % of a step, and make every rank wait there"
    )
    assert (found.severity, "every 50 steps" in found.remedy) == ("warning", True)
    (slight,) = said("small_collectives", calling(workers, blocked_ms=1.0))
    assert slight.severity == "note"  # a twentieth


def test_calls_of_several_kinds_are_all_named() -> None:
    """Of a reduction and a barrier in each step, to leave the barrier out would be half of it."""
    made = calling(2, calls=2)
    calls = made.table("collectives")
    halves = calls.with_columns(
        op=pl.when((pl.col("bytes") <= 4) & (pl.col("call") % 2 == 1)).then(pl.lit("barrier")).otherwise(pl.col("op"))
    )
    (found,) = said("small_collectives", replace(made, tables={**made.tables, "collectives": halves}))
    assert "2 blocking calls (all_reduce, barrier of at most 4 B)" in found.evidence
    assert "barrier" not in found.remedy


@WORKERS
def test_a_barrier_in_each_step_and_a_call_for_each_parameter_get_their_own_advice(workers: int) -> None:
    (barrier,) = said("small_collectives", calling(workers, op="barrier", blocked_ms=1.5))
    assert (barrier.severity, "(barrier)" in barrier.evidence, "leave the barrier out" in barrier.remedy) == ("note", True, True)
    (many,) = said("small_collectives", calling(workers, calls=12, nbytes=64))
    assert ("12 blocking calls" in many.evidence, "one flat buffer" in many.remedy) == (True, True)


def test_calls_that_are_rare_large_quick_waited_for_or_the_gradients_are_not_named() -> None:
    few_calls = (calling(2, every=10), calling(2, nbytes=1 << 20), calling(2, blocked_ms=0.2))
    for measured in (*few_calls, calling(2, blocked_ms=0.2, late_ms=8.0), calling(2, calls=2, gradients=False)):
        assert said("small_collectives", measured) == []


# ---- evaluations -------------------------------------------------------------------------------------------------------


def evaluated(workers: int, *, late_s: float = 0.0, divided: bool = True, each_s: float = 0.2, alone: bool = False) -> RecordData:
    """An evaluation after every twentieth step, a pause of the next one; before it the last rank is late, and the others wait for it inside."""
    made = Handmade(levels=(1, workers), blocks=2)
    for block in range(2):
        for level in (1, workers):
            number = made.launch(workers=level, block=block, wall_s=60.0)
            if alone:
                told(made, number, level, group=0)
            for rank in range(level):
                now = 0.0
                for step in range(STEPS):
                    last, event = level > 1 and rank == level - 1, step % 20 == 0 and step > 0
                    length = each_s / (level if divided else 1)
                    pause = (length + (late_s if level > 1 and not last else 0.0)) if event else 0.0
                    whole = 0.02 + pause + (late_s if last and step % 20 == 19 else 0.0)
                    made.steps(number, rank=rank, seconds=[whole], first=step, start_s=now, checkpoint_s=pause)
                    now += whole
                    if event:
                        made.event(number, "evaluation", now - pause, rank=rank, incarnation=0, duration_s=pause, step=step)
    return made.measured()


@WORKERS
def test_a_rank_that_sleeps_before_each_evaluation_is_named(workers: int) -> None:
    """8 x 0.1 s of 160 x 0.02 + 0.8 s."""
    (found,) = said("late_in_few_steps", evaluated(workers, late_s=0.1))
    assert (found.rule, found.configuration) == ("late_in_few_steps", f"workers={workers}")
    assert found.evidence == f"rank {workers - 1} is late in 8 of 160 steps, by 100 ms each, 20 % of its time; the others wait for it"


def test_nobody_waits_for_a_rank_where_each_trains_by_itself() -> None:
    assert not said("late_in_few_steps", evaluated(2, late_s=0.1, alone=True))


@pytest.mark.parametrize("seed", range(3))
def test_ranks_that_are_late_by_turns_or_together_are_not(seed: int) -> None:
    numbers = random.Random(seed)
    for together in (False, True):
        made = Handmade(levels=(4,), blocks=2)
        for block in range(2):
            number = made.launch(workers=4, block=block, wall_s=60.0)
            seeds = [numbers.random()] * 4 if together else [numbers.random() for _ in range(4)]
            for rank, own in enumerate(seeds):
                late = random.Random(own)
                made.steps(number, rank=rank, seconds=[0.02 + (0.1 if late.random() < 0.05 else 0.0) for _ in range(STEPS)])
        assert said("late_in_few_steps", made.measured()) == []


@WORKERS
def test_an_evaluation_that_every_rank_makes_in_full_is_named(workers: int) -> None:
    """7 x 0.2 s of 160 x 0.02 + 1.4 s."""
    (found,) = said("evaluations", evaluated(workers, divided=False))
    assert (found.rule, found.severity) == ("evaluation_undivided", "note")
    assert "every rank evaluates for 1.40 s of a launch, about as long as workers=1 does (1.40 s): 30 % of the time" in found.evidence


def test_an_evaluation_that_is_divided_and_begun_together_is_not() -> None:
    assert said("evaluations", evaluated(4)) == []
    assert said("late_in_few_steps", evaluated(4)) == []


@WORKERS
def test_waiting_for_a_rank_that_pauses_alone_or_evaluates_longer_is_no_lateness(workers: int) -> None:
    """Rank 0 saves for 0.1 s after every twentieth step, or evaluates for that much longer; the others wait in their next step."""
    for evaluates_s in (0.0, 0.05):
        made = Handmade(levels=(workers,), blocks=2)
        for block in range(2):
            number = made.launch(workers=workers, block=block, wall_s=60.0)
            for rank in range(workers):
                now = 0.0
                for step in range(STEPS):
                    pause = (evaluates_s + (0.1 if rank == 0 else 0.0)) if step % 20 == 19 else 0.0
                    whole = 0.02 + pause + (0.1 if rank and step % 20 == 0 and step else 0.0)
                    made.steps(number, rank=rank, seconds=[whole], first=step, start_s=now, checkpoint_s=pause)
                    now += whole
        assert said("late_in_few_steps", made.measured()) == []


# ---- epochs ------------------------------------------------------------------------------------------------------------


def in_epochs(workers: int, first_ms: float, blocks: int = 1) -> RecordData:
    """Epochs of 16 steps of 20 ms."""
    made = Handmade(levels=(1, workers), blocks=blocks)
    for level in (1, workers):
        number = made.launch(workers=level, wall_s=60.0)
        for rank in range(level):
            now = 0.0
            for step in range(STEPS):
                data = first_ms / 1e3 if step % 16 == 0 else 0.001
                phases = {"data": data, "forward": 0.01, "backward": 0.005, "optimizer": 0.001}
                made.steps(number, rank=rank, seconds=[0.019 + data], first=step, start_s=now, phases_s=phases)
                made.samples(number, [8 * (step % 16) + rank], rank=rank, epoch=step // 16, step=step)
                now += 0.019 + data
    return made.measured()


@WORKERS
def test_epochs_that_begin_with_a_long_wait_are_named(workers: int) -> None:
    found = said("epoch_starts", in_epochs(workers, 400.0))
    assert [one.configuration for one in found] == ["workers=1", f"workers={workers}"]
    assert "the first batch of an epoch takes 400 ms, others 1 ms" in found[1].evidence
    assert "persistent_workers" in found[1].remedy


def test_epochs_that_begin_as_they_go_on_are_not() -> None:
    assert said("epoch_starts", in_epochs(2, 3.0)) == []
