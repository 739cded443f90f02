"""Unwatched steps: a record that has some gives the numbers of one whose steps were all watched."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import waits
from fireassay.frames.training.communication.links import Demand, demand
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.frames.training.communication.watched_steps import UNWATCHED, levelled, unwatched
from fireassay.frames.training.parallelism import parallelism
from fireassay.frames.training.rank_phases import own_times
from fireassay.frames.training.rank_time import CATEGORIES, partition
from fireassay.instruments.hooks.watched_steps import FIRST, chosen
from fireassay.instruments.recorder.step_rows import UNWATCHED as WRITTEN
from fireassay.metrics.metric import Metric
from fireassay.record.declared import STEPS
from fireassay.reports.charts.ranks import rank_phases
from fireassay.units import BYTES, SECONDS
from tests.handmade import Handmade, S
from tests.metrics.straggling import Training, add
from tests.parallel_made import told
from tests.tiers import some

pytestmark = pytest.mark.slow


LENGTH = 200
EXPOSED = STEPS.column_names.index("exposed_comm_ns")
COMMUNICATION = ("comm_total", "comm_transfer", "comm_wait", "comm_exposed", "comm_volume", "overlap", "comm_to_compute")


def even() -> Handmade:
    """Two ranks in steps of a second: each asks for one collective, of .4 s on rank 0 and .1 s on rank 1, and stands still for it."""
    made = Handmade(levels=(1, 2), blocks=1)
    alone = made.launch(workers=1, wall_s=LENGTH)
    made.steps(alone, seconds=[1.0] * LENGTH, items=4.0)
    number = made.launch(workers=2, wall_s=LENGTH)
    for rank, still in ((0, 0.4), (1, 0.1)):
        made.steps(number, rank=rank, seconds=[1.0] * LENGTH, items=4.0, phases_s={"forward": 0.2, "backward": 0.7, "optimizer": 0.1})
        for step in range(LENGTH):
            end, ns = made.begin[number] + round((step + 0.9) * S), round(still * S)
            made.rows["collectives"].append(
                (number, rank, 0, "0", step, step, "all_reduce", 2, 100, "float32", "", None, end - ns, end, None, None, None, "host")
            )
            made.rows["communication"] += [
                (number, rank, 0, step, "engine", None, ns, None, None),
                (number, rank, 0, step, "group", ns, ns, None, 100),
            ]
            made.rows["waits"].append((number, rank, 0, step, "backward", 0, ns))
            made.rows["inventory"].append((number, rank, 0, step, "0", "all_reduce", "float32", 2, 1, 100, None))
    made.rows["steps"] = [
        (*row[:EXPOSED], None if row[0] == alone else round((0.1 if row[1] else 0.4) * S), *row[EXPOSED + 1 :])
        for row in made.rows["steps"]
    ]
    told(made, number, bytes=100)
    return made


def sampled(made: Handmade, watches: Callable[[int], bool] = chosen, *, of: tuple[int, ...] = (0, 1, 2)) -> RecordData:
    """The same, as the hooks write it where they watch some steps only, on these ranks."""
    several = {row[0] for row in made.rows["launches"] if row[4] > 1}

    def is_seen(row: tuple[Any, ...], place: int = 3) -> bool:
        return row[0] not in several or row[1] not in of or row[place] is None or watches(row[place])

    for table, place in (("collectives", 5), ("communication", 3), ("waits", 3)):
        made.rows[table] = [row for row in made.rows[table] if is_seen(row, place)]
    for row in [row for row in made.rows["steps"] if not is_seen(row)]:
        made.rows["communication"].append((*row[:4], UNWATCHED, None, None, None, None))
    made.rows["steps"] = [row if is_seen(row) else (*row[:EXPOSED], None, *row[EXPOSED + 1 :]) for row in made.rows["steps"]]
    return made.measured()


def test_the_cost_of_watching_is_no_warm_up() -> None:
    """Watched steps take 5 % longer, all of them at first: the level does not change where that ends."""
    numbers = random.Random(1)
    lengths = [(1.05 if chosen(step) else 1.0) * numbers.gauss(1.0, 0.01) for step in range(LENGTH)]
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2, wall_s=2 * LENGTH)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=lengths)
    assert made.measured().steady[0].warmup >= FIRST
    measured = sampled(made)
    assert measured.steady[0].warmup == 0
    assert measured.steady_steps["step_s"].to_list() == pytest.approx(lengths), "only to find the warm-up"


def test_a_fully_watched_launch_keeps_its_steps_next_to_a_sampled_one() -> None:
    made = even()
    sampled(made)
    measured = made.measured()
    alone = levelled(measured.global_steps, measured.table("communication")).filter(launch=0)
    assert alone["step_s"].to_list() == pytest.approx([1.0] * LENGTH)


def test_steps_since_the_first_unwatched_one_speak_for_a_launch() -> None:
    """The first 32 communicate twice as long, and would be most of those that were watched."""
    made = even()
    made.rows["communication"] = [
        row if row[3] >= FIRST or row[4] != "group" else (*row[:6], 2 * row[6], *row[7:]) for row in made.rows["communication"]
    ]
    found = catalog.load("metrics", "comm_exposed").compute(sampled(made), {})["workers=2"]
    assert found.value == pytest.approx(0.25)


def test_the_hooks_write_the_word_that_is_read() -> None:
    assert WRITTEN == UNWATCHED


@pytest.mark.parametrize("of", [(0, 1), (1,)], ids=["both", "one"])
@pytest.mark.parametrize("name", COMMUNICATION)
def test_a_metric_of_communication_is_what_the_watched_steps_say(name: str, of: tuple[int, ...]) -> None:
    """Also where one rank was watched in all steps: its number alone is no mean over ranks."""
    metric: Metric = catalog.load("metrics", name)
    every, some = (metric.compute(one, {})["workers=2"] for one in (even().measured(), sampled(even(), of=of)))
    assert isinstance(every, Estimate), every
    assert isinstance(some, Estimate), some
    assert some.value == pytest.approx(every.value)
    if some.unit in (SECONDS, BYTES):
        assert ("watched steps" in every.method, "watched steps" in some.method) == (False, True)


def test_waits_of_ranks_come_from_watched_steps() -> None:
    """.1 s of the rank that waits least, and the mean over ranks is .15 s longer, of .75 s of work in the mean."""
    every, some = (waits(one).rows(named=True) for one in (even().measured(), sampled(even())))
    assert every == some
    assert len(some) == 1
    assert some[0]["slowest"] == pytest.approx(1.0 + 0.15 / 0.75)
    assert some[0]["hidden_s"] == 0.0


def test_ranks_phases_are_their_own_in_watched_steps() -> None:
    """Without it most steps would count as work what was waiting."""
    assert rank_phases(sampled(even())) == rank_phases(even().measured())


@pytest.mark.parametrize("of", [(0, 1), (1,)], ids=["both", "one"])
@pytest.mark.parametrize("logged", [False, True])
def test_rank_seconds_are_parted_by_the_shares_of_watched_steps(of: tuple[int, ...], logged: bool) -> None:
    """Also where DDP's own log tells what an unwatched step exposed: of waiting it says nothing."""
    found = []
    both = even(), even()
    for made in both if logged else ():
        made.rows["communication"] += [
            (1, rank, 0, step, "ddp_logging", None, round((0.1 if rank else 0.4) * S), None, None)
            for rank in (0, 1)
            for step in range(0, LENGTH, 8)
        ]
    for measured in (both[0].measured(), sampled(both[1], of=of)):
        rows = partition(measured, measured.timed.filter(workers=2))
        found.append(rows.select("rank", *CATEGORIES).to_dicts())
    for every, sampled_row in zip(*found, strict=True):
        assert sampled_row == pytest.approx(every, abs=LENGTH)  # a nanosecond a step
    assert found[0][0]["straggler_wait"] == pytest.approx(0.3 * LENGTH * S)


def test_one_long_wait_in_a_watched_step_is_not_extrapolated() -> None:
    """In a watched step after the first that was not, rank 0 stands still for .9 of the second instead of .4."""
    made = even()
    long = next(step for step in range(FIRST + 20, LENGTH) if chosen(step))
    made.rows["steps"] = [
        (*row[:EXPOSED], round(0.9 * S), *row[EXPOSED + 1 :]) if row[:2] == (1, 0) and row[3] == long else row for row in made.rows["steps"]
    ]
    measured = sampled(made)
    row = partition(measured, measured.timed.filter(workers=2)).filter(rank=0).row(0, named=True)
    assert row["straggler_wait"] + row["exposed_communication"] == pytest.approx(0.4 * LENGTH * S + 0.5 * S, abs=LENGTH)


@pytest.mark.parametrize("phase", some(["forward", "backward", "communication"]))
def test_a_slow_rank_is_named_from_watched_steps(phase: str) -> None:
    """50 ms in each step; the 20 clean launches name no rank."""
    made = Handmade(levels=(3,), blocks=21)
    for block in range(21):
        late = {} if block else {(1, phase): 50.0}
        add(made, made.launch(workers=3, block=block), Training(ranks=3, seed=block, steps=LENGTH, late=late))
    slow, *clean = own_times(sampled(made))
    assert slow.method == "thread"
    assert [(one.rank, one.phase) for one in slow.searched().found] == [(1, phase)]
    assert [one.searched().found for one in clean] == [()] * 20


def test_data_parallelism_is_recognised_and_says_of_how_many_steps() -> None:
    found = parallelism(sampled(even()), "workers=2")
    assert found.kind == "data"
    watched = sum(chosen(step) for step in range(LENGTH))
    assert f"in {watched} of {watched} watched steps" in found.evidence


def test_torchs_list_is_compared_with_watched_steps_only() -> None:
    found = inventory(sampled(even()), "workers=2")
    assert found is not None
    assert (found.calls, found.seen) == (1.0, 1.0)
    assert not found.unseen


@pytest.mark.parametrize("length", [36, 40, 44, 52, 60, 100])
def test_a_short_launch_has_no_warm_up_where_sampling_begins(length: int) -> None:
    numbers = random.Random(length)
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2, wall_s=2 * length)
    lengths = [(1.05 if chosen(step) else 1.0) * numbers.gauss(1.0, 0.01) for step in range(length)]
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=lengths)
    assert sampled(made).steady[0].warmup == 0


def test_a_step_done_again_is_as_watched_as_the_last_time() -> None:
    """The first life left step 3 unwatched, the second watched it."""
    rows = [(0, 0, 0, 3, UNWATCHED), (0, 0, 1, 3, "group"), (0, 0, 0, 4, UNWATCHED)]
    names = ["launch", "rank", "incarnation", "step", "method"]
    assert unwatched(pl.DataFrame(rows, schema=names, orient="row")).rows() == [(0, 4)]


def test_the_traffic_of_a_step_is_that_of_watched_ones() -> None:
    """Each step has a call of 4 bytes of the script's own, which is noted in all; the gradients' 100 bytes are not."""
    made = even()
    for rank in (0, 1):
        for step in range(LENGTH):
            at = made.begin[1] + step * S
            made.rows["collectives"].append(
                (1, rank, 0, "1", step, step, "all_reduce", 2, 4, "float32", "", None, at, at + 1, None, None, None, "host")
            )
    every = demand(made.measured(), [2])
    own = [row for row in made.rows["collectives"] if row[3] == "1"]
    made.rows["collectives"] = [row for row in made.rows["collectives"] if row[3] != "1"]
    sampled(made)
    made.rows["collectives"] += own
    some = demand(made.measured(), [2])
    assert isinstance(every, Demand)
    assert isinstance(some, Demand)
    assert some.sent == every.sent
