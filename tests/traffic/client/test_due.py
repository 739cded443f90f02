"""What is due comes in time's order, once; what follows waits for what it follows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client.due import NEVER, Agenda
from tests.traffic.planned import planned

MS = 1_000_000


def agenda(schedule: Schedule, k: int = 0, n: int = 1) -> Agenda:
    return Agenda(schedule, make.mine(schedule, k, n), make.predecessors(schedule))


def made(due: list[int], **columns: list[int]) -> Schedule:
    """A schedule with these due times (ms, -1: follows) and whatever else."""
    n = len(due)
    given = {name: np.array(values) for name, values in columns.items()}
    whole: dict[str, Any] = {
        "phase": np.full(n, 2, np.int8),
        "kind": np.zeros(n, np.int8),
        "stream": np.full(n, -1, np.int32),
        "session": np.full(n, -1, np.int64),
        "turn": np.full(n, -1, np.int32),
        "due_ns": np.array([-1 if one < 0 else one * MS for one in due], np.int64),
        "pause_ns": np.zeros(n, np.int64),
        "pause_kind": np.zeros(n, np.int8),
        "tokens_in": np.full(n, 8, np.int64),
        "tokens_out": np.full(n, 2, np.int64),
        "seed": np.arange(n, dtype=np.int64),
        "replica": np.full(n, -1, np.int32),
        "example": np.full(n, -1, np.int64),
        **given,
    }
    return Schedule(**whole)


def popped(one: Agenda, now_ns: int) -> list[tuple[int, int]]:
    found = []
    while (got := one.pop(now_ns)) is not None:
        found.append(got)
    return found


@given(st.lists(st.integers(0, 50), max_size=40), st.lists(st.integers(0, 60), max_size=8))
def test_requests_come_once_each_in_the_order_of_their_times(due: list[int], looks: list[int]) -> None:
    one = agenda(made(due))
    one.begin(1000, 1000 + 60 * MS)
    found = []
    for now in [*sorted(looks), 60]:
        found += popped(one, 1000 + now * MS)
        assert one.next_ns > 1000 + now * MS
    assert [number for number, _ in found] == sorted(range(len(due)), key=lambda number: due[number])
    assert [when for _, when in found] == [1000 + when * MS for when in sorted(due)]
    assert one.next_ns == NEVER


def test_nothing_becomes_due_at_or_after_the_end() -> None:
    one = agenda(made([0, 5, 10, 15]))
    one.begin(0, 10 * MS)
    assert [number for number, _ in popped(one, 100 * MS)] == [0, 1]
    assert not one.put_off(3, 10 * MS)
    assert one.put_off(3, 10 * MS - 1)
    assert popped(one, 100 * MS) == [(3, 10 * MS - 1)]


def test_more_requests_than_a_block_holds_all_come() -> None:
    n = 10_000
    one = agenda(made(list(range(n))))
    one.begin(0, n * MS)
    assert [number for number, _ in popped(one, n * MS)] == list(range(n))


def test_a_stream_goes_on_with_its_next_request_after_the_pause() -> None:
    one = agenda(made([0, 0, -1, -1], stream=[0, 1, 0, 1], pause_ns=[0, 0, 7, 0]))
    one.begin(0, MS)
    assert popped(one, 0) == [(0, 0), (1, 0)]
    assert [list(one.followers(number)) for number in range(4)] == [[2], [3], [], []]
    assert (one.after(2, 100), one.after(3, 100)) == (107, 100)


def test_put_off_requests_and_timed_ones_come_in_one_order() -> None:
    one = agenda(made([0, 4, 8, -1], stream=[-1, -1, -1, 0]))
    one.begin(0, 100 * MS)
    one.put_off(3, 5 * MS)
    assert [number for number, _ in popped(one, 6 * MS)] == [0, 1, 3]
    assert one.next_ns == 8 * MS


def test_one_request_may_be_followed_by_several() -> None:
    # the session's second turn and the stream's next request both follow request 0
    one = agenda(made([0, -1, -1], stream=[0, 1, 0], session=[7, 7, -1], turn=[0, 1, -1]))
    assert sorted(one.followers(0)) == [1, 2]


def test_a_query_of_several_requests_is_followed_when_the_last_of_it_has_ended() -> None:
    schedule = planned("multi_stream", duration_s=0.1, samples_per_query=3, requests=9)
    one = agenda(schedule)
    groups = [list(one.followers(number)) for number in (0, 2, 1)]
    assert groups[:2] == [[], []]
    assert sorted(groups[2]) == [3, 4, 5]
    assert [one.next_of(number) for number in (0, 5, 6)] == [3, 6, -1]


def test_sessions_tell_whether_they_go_on() -> None:
    one = agenda(made([0, 0, 5, 5], session=[1, 2, 1, 2], turn=[0, 0, 1, 1]))
    assert [one.has_later_turn(number) for number in range(4)] == [True, True, False, False]


def test_clients_share_a_schedule_out_without_overlap() -> None:
    schedule = planned("poisson", load=200.0, duration_s=1.0, cold=2)
    parts = [agenda(schedule, k, 3) for k in range(3)]
    for part in parts:
        part.begin(0, 10**12)
    numbers = [number for part in parts for number, _ in popped(part, 10**12)]
    assert sorted(numbers) == list(range(2, len(schedule)))
    assert [part.cold for part in parts] == [[0, 1], [], []]


def test_after_a_stop_nothing_is_due() -> None:
    one = agenda(made([0, 1, 2]))
    one.begin(0, 10 * MS)
    one.put_off(2, MS)
    one.stop()
    assert (one.next_ns, one.pop(NEVER - 1), one.put_off(1, 1)) == (NEVER, None, False)
