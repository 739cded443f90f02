"""A worker that is to make only so many steps ends after them: recorded, together with the others, and with 0."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.recorder import step_limit
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.instruments.recorder.step_limit import StepLimit
from fireassay.record.tables import TABLES


class Ended(BaseException):
    """In the place of the process's end."""


def exits(status: int) -> None:
    raise Ended(status)


class Worker:
    """A recorder with a limit."""

    def __init__(self, folder: Path, steps: int, *, rank: int = 0, workers: int = 1, incarnation: int = 0) -> None:
        self.sink, self.clock = MemorySink(), FakeClock(ns=1_000)
        identity = Identity(launch=0, rank=rank, workers=workers, incarnation=incarnation, seed=1, host="here")
        self.p = Recorder(identity, self.sink, now=self.clock.now_ns)
        self.p.limit = StepLimit(steps, folder, self.p, incarnation, exits=exits, patience_s=0.05)

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.of("events") if row["kind"] == kind]


def batches() -> Iterator[int]:
    """A job that never ends."""
    number = 0
    while True:
        yield number
        number += 1


def train(worker: Worker, start: int) -> None:
    for _ in worker.p.steps(batches(), start=start):
        with worker.p.phase("optimizer"):
            worker.clock.advance(0.001)


def trained(worker: Worker, *, start: int = 0) -> int:
    """Train until the process would end; its status."""
    with pytest.raises(Ended) as ended:
        train(worker, start)
    return int(ended.value.args[0])


def test_it_ends_after_the_steps_with_0_and_every_row_is_written(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5)
    assert trained(worker) == 0
    assert [row["step"] for row in worker.of("steps")] == [0, 1, 2, 3, 4]
    assert worker.sink.closed
    [reached] = worker.events("steps_reached")
    assert (reached["step"], reached["value"]) == (5, 5.0)
    [end] = worker.events("worker_end")
    assert (end["step"], json.loads(end["detail"])) == (5, {})


def test_a_script_that_numbers_on_from_its_snapshot_makes_as_many(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5)
    assert trained(worker, start=1000) == 0
    assert [row["step"] for row in worker.of("steps")] == [1000, 1001, 1002, 1003, 1004]


def test_after_a_restart_the_steps_of_the_first_incarnation_count(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5, incarnation=1)
    assert trained(worker, start=3) == 0
    assert [row["step"] for row in worker.of("steps")] == [3, 4]


def test_it_goes_on_over_the_ends_of_loops(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5)

    def epochs() -> None:
        for epoch in range(9):
            for _ in worker.p.steps([1, 2], epoch=epoch):
                with worker.p.phase("optimizer"):
                    pass
            with worker.p.evaluation():
                worker.clock.advance(1.0)

    with pytest.raises(Ended):
        epochs()
    assert [row["step"] for row in worker.of("steps")] == [0, 1, 2, 3, 4]
    assert len(worker.events("evaluation")) == 2


def test_a_script_that_ends_earlier_ends_as_it_would(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5)
    for _ in worker.p.steps([1, 2]):
        with worker.p.phase("optimizer"):
            pass
    worker.p.close()
    assert len(worker.of("steps")) == 2
    assert worker.events("steps_reached") == []
    assert not (tmp_path / "ended").exists()


def test_it_waits_for_the_other_ranks(tmp_path: Path) -> None:
    first, second = (Worker(tmp_path, 3, rank=rank, workers=2) for rank in (0, 1))
    step_limit.mark(tmp_path, 0, 1)
    assert trained(first) == 0
    assert trained(second) == 0


def test_a_rank_that_never_comes_makes_the_launch_fail_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step_limit.mark(tmp_path, 1, 1)  # of another incarnation
    assert trained(Worker(tmp_path, 3, rank=0, workers=2)) == 1
    assert "rank 0 finished its 3 steps and waited 0.05 s for the other ranks" in capsys.readouterr().err


def test_ranks_of_another_machine_that_cannot_be_seen_are_waited_for_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_limit, "ELSEWHERE_S", 0.01)
    worker = Worker(tmp_path, 3, rank=2, workers=4)
    worker.p.limit = StepLimit(3, tmp_path, worker.p, 0, local=range(2, 4), exits=exits, patience_s=0.05)
    assert trained(worker) == 1  # its neighbour is on this machine, and has not come
    step_limit.mark(tmp_path, 0, 3)
    again = Worker(tmp_path, 3, rank=2, workers=4)
    again.p.limit = StepLimit(3, tmp_path, again.p, 0, local=range(2, 4), exits=exits, patience_s=0.05)
    assert trained(again) == 0


def test_the_ranks_of_a_machine_are_those_that_its_engine_names(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5, rank=5, workers=8)
    environ = {"FIREASSAY_STEPS": "7", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    limit = step_limit.limit_from(environ, tmp_path, worker.p, 0)
    assert limit is not None
    assert limit.local == range(4, 8)
    alone = step_limit.limit_from({"FIREASSAY_STEPS": "7"}, tmp_path, worker.p, 0)
    assert alone is not None
    assert alone.local == range(8)


def test_a_folder_that_cannot_be_written_ends_the_worker_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ended").touch()
    assert trained(Worker(tmp_path, 3)) == 1
    assert "could not end after its steps: FileExistsError" in capsys.readouterr().err


def timed_worker(folder: Path, rank: int, *, seconds: float) -> Worker:
    """One of two ranks whose steps take a millisecond."""
    worker = Worker(folder, 500, rank=rank, workers=2)
    worker.p.limit = StepLimit(500, folder, worker.p, 0, exits=exits, patience_s=0.05, seconds=seconds)
    return worker


def test_ranks_agree_on_the_last_step_where_time_ends_them(tmp_path: Path) -> None:
    """The second rank's own clock would let it go on; the step of the agreement is none that it can have begun."""
    step_limit.mark(tmp_path, 0, 1)
    first = timed_worker(tmp_path, 0, seconds=0.0105)  # over after its step 11, counted from 1
    second = timed_worker(tmp_path, 1, seconds=9.0)
    assert trained(first) == 0
    assert trained(second) == 0
    assert len(first.of("steps")) == len(second.of("steps")) == 11 + step_limit.MORE_STEPS


def test_the_first_agreement_counts_and_so_many_steps_are_the_most(tmp_path: Path) -> None:
    for rank in (0, 1):
        step_limit.mark(tmp_path, 0, rank)
    assert trained(timed_worker(tmp_path, 0, seconds=0.0105)) == 0
    late = timed_worker(tmp_path, 1, seconds=0.0005)
    assert trained(late) == 0
    assert len(late.of("steps")) == 11 + step_limit.MORE_STEPS
    few = timed_worker(tmp_path / "other", 0, seconds=9.0)
    step_limit.mark(tmp_path / "other", 0, 1)
    assert trained(few) == 0
    assert len(few.of("steps")) == 500


def test_hooks_ask_after_every_step_while_time_may_end_them(tmp_path: Path) -> None:
    worker = timed_worker(tmp_path, 0, seconds=9.0)
    assert worker.p.limit is not None
    worker.p.limit.reached(0)
    worker.p._busy = False
    assert worker.p.plain_until(40) == 41
    worker.p.limit = StepLimit(500, tmp_path, worker.p, 0)
    assert worker.p.plain_until(40) == 48


def test_without_the_variable_there_is_no_limit(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 5)
    assert step_limit.limit_from({}, tmp_path, worker.p, 0) is None
    assert step_limit.limit_from({"FIREASSAY_STEPS": "7"}, tmp_path, worker.p, 0) is not None
    timed = step_limit.limit_from({"FIREASSAY_STEPS": "7", "FIREASSAY_STEP_SECONDS": "2.5"}, tmp_path, worker.p, 0)
    assert timed is not None
    assert timed.timed
