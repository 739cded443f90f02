"""Steps whose communication nobody watched: what is told of a record must be what the watched ones say, as if all had been watched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay import catalog
from assay.instruments._watched_steps import UNWATCHED as WRITTEN
from assay.instruments._watched_steps import chosen
from assay.metrics.base import Metric
from assay.metrics.estimate import Estimate
from assay.metrics.inventory import inventory
from assay.metrics.measured import Measured
from assay.metrics.parallelism import parallelism
from assay.metrics.partition import CATEGORIES, partition
from assay.metrics.straggler import own_times
from assay.metrics.watched import UNWATCHED
from assay.record.tables import STEPS
from assay.reports.rank_series import phases
from tests.handmade import Handmade, S
from tests.metrics.straggling import Training, add
from tests.parallel_made import told

FIRST, LENGTH = 32, 200
EXPOSED = STEPS.column_names.index("exposed_comm_ns")
COMMUNICATION = (
    "comm_total",
    "comm_transfer",
    "comm_wait",
    "comm_exposed",
    "comm_volume",
    "overlap",
    "comm_to_compute",
)


def even() -> Handmade:
    """Two ranks in steps of a second: each asks for one collective, of .4 s on rank 0 and .1 s on rank 1, and stands still for it."""
    made = Handmade(levels=(1, 2), blocks=1)
    alone = made.launch(workers=1, wall_s=LENGTH)
    made.steps(alone, seconds=[1.0] * LENGTH, items=4.0)
    number = made.launch(workers=2, wall_s=LENGTH)
    for rank, still in ((0, 0.4), (1, 0.1)):
        made.steps(
            number,
            rank=rank,
            seconds=[1.0] * LENGTH,
            items=4.0,
            phases_s={"forward": 0.2, "backward": 0.7, "optimizer": 0.1},
        )
        for step in range(LENGTH):
            end, ns = made.begin[number] + round((step + 0.9) * S), round(still * S)
            made.rows["collectives"].append(
                (number, rank, 0, "0", step, step, "all_reduce", 2, 100, "float32", "", None, end - ns, end, None, None, None, "host")
            )  # fmt: skip
            made.rows["communication"] += [
                (number, rank, 0, step, "engine", None, ns, None, None), (number, rank, 0, step, "group", ns, ns, None, 100),
            ]  # fmt: skip
            made.rows["waits"].append((number, rank, 0, step, "backward", 0, ns))
            made.rows["inventory"].append((number, rank, 0, step, "0", "all_reduce", "float32", 2, 1, 100, None))
    made.rows["steps"] = [
        (*row[:EXPOSED], None if row[0] == alone else round((0.1 if row[1] else 0.4) * S), *row[EXPOSED + 1 :]) for row in made.rows["steps"]
    ]  # fmt: skip
    told(made, number, bytes=100)
    return made


def sampled(made: Handmade, watches: Callable[[int], bool] = lambda step: step < FIRST or chosen(step)) -> Measured:
    """The same, as the hooks write it where they watch some steps only."""
    for table, place in (("collectives", 5), ("communication", 3), ("waits", 3)):
        made.rows[table] = [row for row in made.rows[table] if row[place] is None or watches(row[place])]
    several = {row[0] for row in made.rows["launches"] if row[4] > 1}
    for row in [row for row in made.rows["steps"] if row[0] in several and not watches(row[3])]:
        made.rows["communication"].append((*row[:4], UNWATCHED, None, None, None, None))
    made.rows["steps"] = [
        row if row[0] not in several or watches(row[3]) else (*row[:EXPOSED], None, *row[EXPOSED + 1 :]) for row in made.rows["steps"]
    ]  # fmt: skip
    return made.measured()


def test_the_hooks_write_the_word_that_is_read() -> None:
    assert WRITTEN == UNWATCHED


@pytest.mark.parametrize("name", COMMUNICATION)
def test_a_metric_of_communication_is_what_the_watched_steps_say(name: str) -> None:
    metric: Metric = catalog.load("metrics", name)
    every, some = (metric.compute(one, {})["workers=2"] for one in (even().measured(), sampled(even())))
    assert isinstance(every, Estimate), every
    assert isinstance(some, Estimate), some
    assert some.value == pytest.approx(every.value)


def test_ranks_phases_are_their_own_in_watched_steps() -> None:
    """Without it most steps would count as work what was waiting."""
    assert phases(sampled(even())) == phases(even().measured())


def test_rank_seconds_are_parted_by_the_shares_of_watched_steps() -> None:
    found = []
    for measured in (even().measured(), sampled(even())):
        rows = partition(measured, measured.timed.filter(workers=2))
        found.append(rows.select("rank", *CATEGORIES).to_dicts())
    for every, some in zip(*found, strict=True):
        assert some == pytest.approx(every, abs=LENGTH)  # a nanosecond a step
    assert found[0][0]["straggler_wait"] == pytest.approx(0.3 * LENGTH * S)


def test_one_long_wait_in_a_watched_step_is_not_told_of_all() -> None:
    """In a watched step after the first that was not, rank 0 stands still for .9 of the second instead of .4."""
    made = even()
    long = next(step for step in range(FIRST + 20, LENGTH) if chosen(step))
    made.rows["steps"] = [
        (*row[:EXPOSED], round(0.9 * S), *row[EXPOSED + 1 :]) if row[:2] == (1, 0) and row[3] == long else row for row in made.rows["steps"]
    ]  # fmt: skip
    measured = sampled(made)
    row = partition(measured, measured.timed.filter(workers=2)).filter(rank=0).row(0, named=True)
    assert row["straggler_wait"] + row["exposed_communication"] == pytest.approx(0.4 * LENGTH * S + 0.5 * S, abs=LENGTH)


@pytest.mark.parametrize("phase", ["forward", "backward", "communication"])
def test_a_slow_rank_is_named_from_watched_steps(phase: str) -> None:
    """50 ms in each step; beside it 20 clean launches, in which nobody is."""
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
    watched = sum(step < FIRST or chosen(step) for step in range(LENGTH))
    assert f"in {watched} of {watched} watched steps" in found.evidence


def test_torchs_own_list_is_held_against_watched_steps_only() -> None:
    found = inventory(sampled(even()), "workers=2")
    assert found is not None
    assert (found.calls, found.seen) == (1.0, 1.0)
    assert not found.unseen
