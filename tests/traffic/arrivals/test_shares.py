"""Is every request sent by exactly one client process, together with what it waits for?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import COLD, Schedule, rows


def small() -> Schedule:
    """Two cold requests, a stream's two, a conversation's first two, one of its own, and that conversation's third."""
    return rows(
        8,
        phase=np.array([0, 0, 2, 2, 1, 2, 2, 2]),
        stream=np.array([-1, -1, 1, 1, -1, -1, -1, -1]),
        session=np.array([-1, -1, -1, -1, 7, 7, -1, 7]),
        turn=np.array([-1, -1, -1, -1, 0, 1, -1, 2]),
        due_ns=np.array([-1, -1, 0, -1, 5, -1, 9, -1]),
        seed=0,
    )


def test_a_client_that_is_not_there_has_no_requests() -> None:
    with pytest.raises(ValueError, match="no client process 2 of 2"):
        make.mine(small(), 2, 2)


def test_streams_conversations_and_numbers_are_dealt_out_in_turn() -> None:
    # of 2: the cold ones to client 0, stream 1 to 1, conversation 7 to 1, number 6 to 0
    assert make.mine(small(), 0, 2).tolist() == [0, 1, 6]
    assert make.mine(small(), 1, 2).tolist() == [2, 3, 4, 5, 7]
    # of 3: the cold ones and number 6 to client 0, stream 1 and conversation 7 to 1
    assert make.mine(small(), 0, 3).tolist() == [0, 1, 6]
    assert make.mine(small(), 2, 3).tolist() == []


def test_queries_whose_requests_wait_for_each_other_are_sent_by_one_client() -> None:
    schedule = replace(small(), together=2)
    assert make.mine(schedule, 0, 3).tolist() == list(range(8))
    assert make.mine(schedule, 1, 3).tolist() == []


def test_a_request_follows_the_nearest_of_its_stream_or_conversation() -> None:
    assert make.predecessors(small()).tolist() == [-1, 0, -1, 2, -1, 4, -1, 5]


def test_a_new_conversation_of_a_stream_follows_the_end_of_the_one_before() -> None:
    schedule = rows(4, stream=0, session=np.array([3, 3, 4, -1]), turn=np.array([0, 1, 0, -1]), due_ns=np.array([0, -1, -1, -1]), seed=0)
    assert make.predecessors(schedule).tolist() == [-1, 0, 1, 2]


def test_a_query_follows_the_whole_query_before() -> None:
    one = rows(7, phase=np.array([0, 2, 2, 2, 2, 2, 2]), due_ns=np.array([-1, 0, 0, -1, -1, -1, -1]), seed=0)
    assert make.predecessors(replace(one, together=2)).tolist() == [-1, -1, -1, 2, 2, 4, 4]


anything = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 5), st.integers(-1, 9)), max_size=60)


@given(anything, st.integers(1, 17))
def test_every_request_has_exactly_one_client_and_cold_ones_the_first(rolls: list[tuple[int, int, int]], n: int) -> None:
    phase, stream, session = (np.array([roll[place] for roll in rolls], dtype=np.int64) for place in range(3))
    schedule = rows(len(rolls), phase=phase, stream=stream, session=session, seed=0)
    parts = [make.mine(schedule, k, n) for k in range(n)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(rolls)))
    assert set(np.flatnonzero(phase == COLD)) <= set(parts[0].tolist())
    for k, part in enumerate(parts):
        warm = part[phase[part] != COLD]
        assert all(number % n == k for number in stream[warm][stream[warm] >= 0])
