"""Is the rank named that the others wait for, only that one, and is a job that stands still told from a slow one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from scipy.stats import t

from fireassay.instruments.watching.diagnosis import WINDOWS, _t, diagnose
from fireassay.instruments.watching.processes import Reading, Worker
from fireassay.instruments.watching.sampler import Look, Samples
from fireassay.instruments.watching.stacks import Frame

C10D, GRAPH = "/x/torch/distributed/distributed_c10d.py", "/x/torch/autograd/graph.py"
LOADER, LINEAR = "/x/torch/utils/data/dataloader.py", "/x/torch/nn/modules/linear.py"
OWN = Frame(name="main", file="/home/me/train.py", line=41)


def look(rank: int, second: float, file: str, *, active: bool, name: str = "f") -> Look:
    return Look(rank=rank, ns=round(second * 1e9), active=active, frames=(Frame(name=name, file=file, line=1), OWN))


def readings(rank: int, running: float, *, seconds: int = 60, queued: float = 0.0, blocked_in: str = "") -> list[Reading]:
    """One a second; the thread is on a processor for this share of every second."""
    return [
        Reading(
            rank=rank,
            ns=second * 10**9,
            run_ns=round(second * running * 1e9),
            queue_ns=round(second * queued * 1e9),
            state="S",
            blocked_in=blocked_in,
            faults=0,
            read_bytes=None,
            written_bytes=None,
        )
        for second in range(seconds + 1)
    ]


def samples(times: Sequence[list[Reading]], looks: Sequence[Look] = ()) -> Samples:
    workers = tuple(Worker(pid=100 + rank, rank=rank, workers=len(times), host="a") for rank in range(len(times)))
    return Samples(workers=workers, readings=[one for rank in times for one in rank], looks=list(looks))


def waits(rank: int, looks: int = 30, *, of: int = 10) -> list[Look]:
    """9 of 10 looks find it in a backward pass, idle; the others in a forward pass, busy."""
    return [look(rank, second, LINEAR if second % of == 0 else GRAPH, active=second % of == 0) for second in range(0, 2 * looks, 2)]


def test_the_rank_that_does_not_wait_is_slow_and_its_phase_is_named() -> None:
    busy = [look(1, second, LINEAR, active=True) for second in range(0, 60, 2)]
    found = diagnose(samples([readings(0, 0.1), readings(1, 0.95)], [*waits(0), *busy]))
    assert (found.kind, found.rank, found.phase, found.place) == ("slow_rank", 1, "forward", "train.py:41 (main)")
    assert found.share == pytest.approx(0.9 - 0.05, abs=0.03)


def test_a_rank_that_sleeps_in_its_loader_does_not_wait_for_others() -> None:
    """Both are blocked for as long: only the stacks tell them apart."""
    loading = [look(1, second, LOADER, active=False) for second in range(0, 60, 2)]
    found = diagnose(samples([readings(0, 0.1), readings(1, 0.1)], [*waits(0), *loading]))
    assert (found.kind, found.rank, found.phase) == ("slow_rank", 1, "data")


def test_equal_ranks_accuse_nobody() -> None:
    assert diagnose(samples([readings(rank, 0.5) for rank in (0, 1)], [*waits(0), *waits(1)])).kind == "none"


def test_a_difference_below_ten_percent_of_the_time_accuses_nobody() -> None:
    assert diagnose(samples([readings(0, 0.40), readings(1, 0.48)], [*waits(0), *waits(1)])).kind == "none"


def test_of_many_ranks_the_one_that_waits_least_is_named() -> None:
    times = [readings(rank, 0.2) for rank in range(7)] + [readings(7, 0.9)]
    seen = [one for rank in range(7) for one in waits(rank)] + [look(7, second, LINEAR, active=True) for second in range(0, 60, 2)]
    assert diagnose(samples(times, seen)).rank == 7


def test_a_loader_that_stalls_every_rank_accuses_no_rank() -> None:
    seen = [look(rank, second, LOADER if second % 4 else GRAPH, active=True) for rank in (0, 1) for second in range(60)]
    found = diagnose(samples([readings(rank, 0.6) for rank in (0, 1)], seen))
    assert (found.kind, found.rank, found.phase) == ("stall", None, "data")
    assert found.share == pytest.approx(0.75)


def test_without_stacks_a_thread_that_sleeps_counts_as_not_waiting() -> None:
    assert diagnose(samples([readings(0, 0.1), readings(1, 0.1, blocked_in="sleep")])).rank == 1
    assert diagnose(samples([readings(0, 0.1), readings(1, 0.1)])).kind == "none"


def test_ranks_that_stay_in_different_collectives_hang() -> None:
    first = [look(0, second, GRAPH, active=False) for second in range(0, 20, 2)]
    second = [look(1, second, C10D, active=False, name="barrier") for second in range(0, 20, 2)]
    found = diagnose(samples([readings(rank, 0.0, seconds=20) for rank in (0, 1)], [*first, *second]))
    assert found.kind == "hang"
    places = [rank.last.words for rank in found.ranks if rank.last is not None]
    assert places == ["the all-reduce of its backward pass, train.py:41 (main)", "barrier, train.py:41 (main)"]


def test_nodes_that_were_booted_days_apart_are_watched_for_as_long_as_one() -> None:
    """A time of one node's monotonic clock says nothing on another node."""
    later = [replace(reading, ns=reading.ns + 5 * 86_400 * 10**9) for reading in readings(1, 0.95)]
    assert diagnose(samples([readings(0, 0.1), later])).seconds == 60


def test_a_rank_that_moves_is_no_hang() -> None:
    first = [look(0, second, GRAPH, active=False) for second in range(0, 20, 2)]
    second = [look(1, second, C10D if second < 10 else LINEAR, active=False) for second in range(0, 20, 2)]
    assert diagnose(samples([readings(rank, 0.0, seconds=20) for rank in (0, 1)], [*first, *second])).kind != "hang"


def test_imports_are_a_start_and_a_moment_is_too_little() -> None:
    importing = [look(rank, second, "<frozen importlib._bootstrap>", active=True) for rank in (0, 1) for second in range(0, 60, 2)]
    assert diagnose(samples([readings(rank, 0.9) for rank in (0, 1)], importing)).kind == "starting"
    assert diagnose(samples([readings(0, 0.9, seconds=3)])).kind == "unknown"


@pytest.mark.parametrize("ranks", [2, 8, 64, 1024])
def test_the_quantile_is_student_s(ranks: int) -> None:
    """Written out, because importing scipy costs the watched job more than all samples."""
    assert _t(ranks) == pytest.approx(t.ppf(1 - 0.05 / ranks, WINDOWS - 1), rel=0.2)
