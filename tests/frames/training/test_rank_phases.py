"""Own times: what each rank worked itself, from simulated trainings whose slow rank is known, by every way of taking waiting off."""

from __future__ import annotations

import polars as pl
import pytest

from fireassay.frames.training.rank_phases import THROUGHOUT, Own, own_times
from tests.handmade import Handmade
from tests.metrics.straggling import PHASES, Training, add, record
from tests.tiers import some

pytestmark = pytest.mark.slow


SEEDS = 20
WAYS = {"thread": (), "ddp_logging": ("waits",), "durations": ("waits", "communication"), "none": ("waits", "communication", "collectives")}


def named(own: Own) -> list[tuple[int, str]]:
    search = own.searched()
    assert search.insufficient == ""
    return [(own.ranks[one.rank], one.phase) for one in search.found]


def launches(ranks: int, trainings: list[Training], *, leave_out: tuple[str, ...] = ()) -> list[list[tuple[int, str]]]:
    """What is named in each of many launches of one record."""
    made = Handmade(levels=(ranks,), blocks=len(trainings))
    for block, training in enumerate(trainings):
        add(made, made.launch(workers=ranks, block=block), training, leave_out=leave_out)
    return [named(own) for own in own_times(made.measured())]


@pytest.mark.deep
@pytest.mark.parametrize("ranks", some([2, 3, 4]))
def test_50_ms_in_any_of_five_phases_name_the_rank_and_the_phase(ranks: int) -> None:
    """In at least 95 % of 20 seeds each, and nothing else."""
    truths = [(seed % ranks, phase) for phase in PHASES for seed in range(SEEDS)]
    trainings = [Training(ranks=ranks, seed=seed % SEEDS, late={truth: 50.0}) for seed, truth in enumerate(truths)]
    told = launches(ranks, trainings, leave_out=("communication", "collectives"))  # what is not used there
    right = [found == [truth] for found, truth in zip(told, truths, strict=True)]
    for place, phase in enumerate(PHASES):
        assert sum(right[place * SEEDS : (place + 1) * SEEDS]) >= 0.95 * SEEDS, phase


@pytest.mark.parametrize("ranks", some([2, 3, 4]))
def test_no_rank_is_named_in_201_clean_launches(ranks: int) -> None:
    clean = [Training(ranks=ranks, seed=seed) for seed in range(67)]
    found = launches(ranks, clean, leave_out=("communication", "collectives"))
    assert [names for names in found if names] == []


def test_slow_by_a_little_in_all_it_does_is_slow() -> None:
    """4 ms more in each of four phases of a step of 100 ms, where 5 would matter: held to a share of a processor, say."""
    truths = [seed % 4 for seed in range(SEEDS)]
    slow = [{(truth, phase): 4.0 for phase in ("data", "forward", "backward", "optimizer")} for truth in truths]
    trainings = [Training(ranks=4, seed=seed, late=late) for seed, late in enumerate(slow)]
    found = launches(4, trainings, leave_out=("communication", "collectives"))
    assert sum(names == [(truth, THROUGHOUT)] for names, truth in zip(found, truths, strict=True)) >= 0.95 * SEEDS


@pytest.mark.parametrize("way", WAYS)
def test_without_the_best_way_the_next_names_the_rank_and_what_it_can_of_the_phase(way: str) -> None:
    """Durations cannot tell computing from asking; without anything backward passes are not compared, rather than named wrongly."""
    instead = {"communication": "backward"} if way in ("ddp_logging", "durations") else {}
    seen = [phase for phase in PHASES if way != "none" or phase in ("data", "forward", "optimizer")]
    found = launches(3, [Training(ranks=3, seed=9, late={(1, phase): 50.0}) for phase in PHASES], leave_out=WAYS[way])
    assert dict(zip(PHASES, found, strict=True)) == {phase: [(1, instead.get(phase, phase))] if phase in seen else [] for phase in PHASES}


@pytest.mark.parametrize("way", ["thread", "ddp_logging", "durations"])
def test_200_ms_in_one_backward_pass_are_seen_although_all_backward_passes_last_as_long(way: str) -> None:
    """traceml #252: the walls of both ranks are equal."""
    made = record(Training(ranks=2, late={(1, "backward"): 200.0}), leave_out=WAYS[way])
    walls = made.measured().table("steps").group_by("rank").agg(pl.col("backward_ns").median() / 1e6).sort("rank")["backward_ns"]
    assert walls[0] == pytest.approx(walls[1], rel=0.05)
    (own,) = own_times(made.measured())
    assert own.method == way
    (found,) = own.searched().found
    assert (found.rank, found.phase) == (1, "backward")
    assert found.seconds.value == pytest.approx(0.2, rel=0.03)


def test_with_kernels_every_collective_shows_its_waits() -> None:
    """Kernels run one after the other: the first waits for the late rank, the others are as long on both. 5 ms each but for that."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    ms = 1_000_000
    for rank, waited in ((0, 45), (1, 0)):
        for step in range(20):
            begin = step * 200 * ms + rank * 10**15
            made.rows["steps"].append(
                (number, rank, 0, step, begin, begin + 190 * ms, 0, 40 * ms, 145 * ms, 5 * ms, None, None, None, "cuda_event")
            )
            at = begin + 50 * ms + (45 - waited) * ms
            for call, extra in ((2 * step, waited), (2 * step + 1, 0)):
                where = (number, rank, 0, "0", call, step, "all_reduce", 2, 1000, "float32", "", None)
                made.rows["collectives"].append((*where, at, at + (5 + extra) * ms, None, None, None, "kineto"))
                at += (6 + extra) * ms
    (own,) = own_times(made.measured())
    assert own.method == "durations"
    assert own.phases["backward"][0].tolist() == pytest.approx([0.100, 0.145])
    assert named(own) == [(1, "backward")]


def test_own_times_are_the_phases_without_asking_and_waiting() -> None:
    """A step of 100 ms: 10 data, 20 forward, 50 backward (of which 5 asking and 15 waiting), 8 optimizer, 2 pause, 10 between (4
    waiting).
    """
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    ms = 1_000_000
    for rank in (0, 1):
        for step in range(6):
            begin = step * 100 * ms
            phases = (10 * ms, 20 * ms, 50 * ms, 8 * ms, 2 * ms)
            made.rows["steps"].append((number, rank, 0, step, begin, begin + 100 * ms, *phases, None, None, "monotonic"))
            made.rows["waits"] += [(number, rank, 0, step, "backward", 5 * ms, 15 * ms), (number, rank, 0, step, "between", 0, 4 * ms)]
    (own,) = own_times(made.measured())
    told = {phase: float(seconds[0, 0]) for phase, seconds in own.phases.items()}
    assert told == pytest.approx(
        {"data": 0.010, "forward": 0.020, "backward": 0.030, "optimizer": 0.008, "between": 0.006, "communication": 0.005}
    )
    assert own.whole is not None
    assert float(own.whole[0, 0]) == pytest.approx(0.098 - 0.019)  # asking is work of its own


def test_where_a_gpu_waits_the_threads_own_waits_are_not_used() -> None:
    """Waiting is null then: DDP's logging, which a GPU fills as well, is next."""
    made = record(Training(ranks=2, seed=3, late={(1, "backward"): 50.0}))
    made.rows["waits"] = [(*row[:6], None) for row in made.rows["waits"]]
    (own,) = own_times(made.measured())
    assert own.method == "ddp_logging"
    assert named(own) == [(1, "backward")]


def test_a_log_of_every_eighth_step_is_enough_where_those_are_many() -> None:
    """Hooks read DDP's log of so many: in 200 steps 25 of them, next to a GPU whose waits are not recorded."""
    made = record(Training(ranks=2, seed=3, steps=200, late={(1, "backward"): 50.0}))
    made.rows["waits"] = [(*row[:6], None) for row in made.rows["waits"]]
    made.rows["communication"] = [row for row in made.rows["communication"] if row[3] % 8 == 0]
    (own,) = own_times(made.measured())
    assert own.method == "ddp_logging"
    assert named(own) == [(1, "backward")]


def test_steps_done_again_after_a_restart_count_as_they_were_at_last() -> None:
    """Rank 1 is late in the first incarnation only, whose steps from 5 on were lost."""
    made = record(Training(ranks=2, seed=3))
    again = record(Training(ranks=2, seed=4, late={(1, "data"): 50.0}))
    for table in ("steps", "waits"):
        lost = [row for row in again.rows[table] if row[3] >= 5]
        fresh = [(*row[:2], 1, *row[3:]) for row in made.rows[table] if row[3] >= 5]
        made.rows[table] = [row for row in made.rows[table] if row[3] < 5] + lost + fresh
    made.rows["collectives"], made.rows["communication"] = [], []
    (own,) = own_times(made.measured())
    assert own.method == "thread"
    assert named(own) == []


def test_a_phase_that_was_not_seen_is_not_compared() -> None:
    made = record(Training(ranks=2))
    made.rows["steps"] = [(*row[:6], None, *row[7:]) for row in made.rows["steps"]]
    (own,) = own_times(made.measured())
    assert "data" not in own.phases


def test_one_worker_and_steps_that_a_rank_lacks_are_left_out() -> None:
    made = record(Training(ranks=2))
    made.rows["steps"] = [row for row in made.rows["steps"] if row[1] == 0]
    assert list(own_times(made.measured())) == []
    alone = Handmade(levels=(1,), blocks=1)
    alone.steps(alone.launch(workers=1), seconds=[1.0] * 30)
    assert list(own_times(alone.measured())) == []


def test_the_clocks_of_the_ranks_do_not_matter() -> None:
    """Each simulated rank's clock is off by up to 5000 s; other clocks, the same numbers."""
    made, other = record(Training(ranks=3, seed=4)), record(Training(ranks=3, seed=4))
    for table, begin, end in (("steps", 4, 5), ("collectives", 12, 13)):
        other.rows[table] = [
            (*row[:begin], row[begin] + row[1] * 7 * 10**12, row[end] + row[1] * 7 * 10**12, *row[end + 1 :]) for row in other.rows[table]
        ]
    (one,), (two,) = own_times(made.measured()), own_times(other.measured())
    assert one.whole is not None
    assert two.whole is not None
    assert (one.whole == two.whole).all()
