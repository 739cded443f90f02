"""Do all ordered pairs of ranks exchange their messages, without waiting for one another for ever, and is what arrives looked at?"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fireassay.instruments.collectives import pairs
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.declared import COLLECTIVES
from tests.limits import PROCESS_S

WAIT_S = PROCESS_S / 2


@pytest.mark.parametrize("n", range(41))
def test_a_tournament_has_every_pair_once_and_nobody_twice_in_a_round(n: int) -> None:
    found = pairs.rounds(n)
    every = [pair for several in found for pair in several]
    assert sorted(every) == [(a, b) for a in range(n) for b in range(a + 1, n)]
    assert all(len({rank for pair in several for rank in pair}) == 2 * len(several) for several in found)
    assert len(found) == (max(n - 1, 0) if n % 2 == 0 else n)  # as few as there can be


@pytest.mark.parametrize("together", [True, False])
def test_every_rank_sends_to_every_other_once(together: bool) -> None:
    found = list(pairs.turns(5, together=together))
    assert sorted(pair for group in found for pair in group) == [(a, b) for a in range(5) for b in range(5) if a != b]
    assert max(len(group) for group in found) == (2 if together else 1)


def test_many_ranks_are_measured_at_once_because_one_by_one_would_take_for_ever() -> None:
    assert not pairs.plan_for(pairs.MAX_ALONE).together
    assert pairs.plan_for(pairs.MAX_ALONE + 1).together
    assert not pairs.plan_for(1000, together=False).together
    assert pairs.plan_for(4, large=1024).sizes == (8, 512, 1024)
    with pytest.raises(ValueError, match="at least 512 bytes"):
        pairs.plan_for(4, large=100)


class Meeting:
    """The strictest engine there is: a send returns when the receiver has taken the message."""

    def __init__(self, n: int) -> None:
        self.lines = {(a, b): queue.Queue[Any]() for a in range(n) for b in range(n)}
        self.met = threading.Barrier(n)


class MetWire(pairs.Wire):
    """A rank's view of it. `spoil` may change what the rank receives."""

    def __init__(self, torch: Any, meeting: Meeting, rank: int, spoil: Callable[[Any], None] = lambda _: None) -> None:
        super().__init__(torch)
        self.meeting, self.rank, self.spoil, self.distributed = meeting, rank, spoil, self

    def barrier(self) -> None:
        self.meeting.met.wait(WAIT_S)

    def send(self, tensor: Any, to: int) -> None:
        taken = threading.Event()
        self.meeting.lines[self.rank, to].put((tensor, taken))
        assert taken.wait(WAIT_S), "nobody took the message"

    def recv(self, tensor: Any, source: int) -> None:
        sent, taken = self.meeting.lines[source, self.rank].get(timeout=WAIT_S)
        tensor.copy_(sent)
        if len(tensor) > 1:
            self.spoil(tensor)
        taken.set()


def exchanged(n: int, plan: pairs.Plan, spoil: Callable[[Any], None] = lambda _: None) -> list[MemorySink]:
    """What each of n ranks wrote down; `spoil` is done to what rank 1 receives."""
    torch = pytest.importorskip("torch")
    meeting, sinks, failed = Meeting(n), [MemorySink() for _ in range(n)], []

    def run(rank: int) -> None:
        who = Identity(launch=3, rank=rank, workers=n, incarnation=0, seed=0, host="ab"[rank % 2])
        wire = MetWire(torch, meeting, rank, spoil if rank == 1 else lambda _: None)
        try:
            pairs.write(sinks[rank], who, wire, plan, {"LOCAL_RANK": "0"})
        except BaseException as error:
            failed.append(error)
            meeting.met.abort()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * WAIT_S)
    assert failed == []
    return sinks


PLAN = pairs.Plan(sizes=(8, 512, 1024), repeats=2, warm_up=1)


@pytest.mark.torch
@pytest.mark.parametrize("together", [True, False])
def test_five_ranks_finish_though_every_send_waits_for_its_receiver(together: bool) -> None:
    sinks = exchanged(5, pairs.Plan(sizes=PLAN.sizes, repeats=2, warm_up=1, together=together))
    for rank, sink in enumerate(sinks):
        rows = [dict(zip(COLLECTIVES.column_names, row, strict=True)) for row in sink.of("collectives")]
        assert {row["group"] for row in rows} == {f"pair {rank}-{other}" for other in range(5) if other != rank}
        assert len(rows) == 4 * (11 + 3 + 3)  # one to warm up; two that count, and ten of the smallest
        assert [row["bytes"] for row in rows[:17]] == [8] * 11 + [512] * 3 + [1024] * 3
        assert [row["phase"] for row in rows[:3]] == ["warm_up", "timed", "timed"]
        assert [row["call"] for row in rows[:17]] == list(range(17))
        assert all(row["end_ns"] >= row["begin_ns"] and row["wrong"] == 0 and row["rank"] == rank for row in rows)


@pytest.mark.torch
def test_a_byte_that_arrives_otherwise_is_counted_by_its_receiver_and_noted_by_its_sender() -> None:
    def spoil(tensor: Any) -> None:
        if len(tensor) == 1024:
            tensor[7] += 1

    sinks = exchanged(2, PLAN, spoil)
    wrong = [[row[COLLECTIVES.column_names.index("wrong")] for row in sink.of("collectives")] for sink in sinks]
    assert wrong == [[0] * 14 + [1] * 3, [0] * 17]


@pytest.mark.torch
def test_a_message_that_never_came_is_not_taken_for_the_one_before() -> None:
    """The receiver's buffer is emptied before each message, and every message differs from the one before."""

    def spoil(tensor: Any) -> None:
        tensor.zero_()

    (sent, _) = exchanged(2, PLAN, spoil)
    wrong = [row[COLLECTIVES.column_names.index("wrong")] for row in sent.of("collectives")]
    assert all(count > 0 for count in wrong)


@pytest.mark.torch
def test_every_rank_says_where_it_runs() -> None:
    events = [sink.of("events") for sink in exchanged(2, PLAN)]
    places = [json.loads(event[-1]) for (event,) in events]
    assert [place["host"] for place in places] == ["a", "b"]
    assert places[0]["boot"] == places[1]["boot"]
    assert places[0]["network"].startswith("net:")
