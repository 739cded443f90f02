"""Does every stream of a closed loop send in a fixed order, with the pauses of a user, and never run dry?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fireassay.spec.sections.serving import Arrivals
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.draws import MAX_SESSION_REQUESTS, count
from fireassay.traffic.arrivals.schedule import THINK, TOOL
from tests.traffic.planned import S, planned


def test_streams_take_turns_and_begin_at_once() -> None:
    schedule = planned("closed", load=3, requests=8)
    assert schedule.stream.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert schedule.due_ns.tolist() == [0, 0, 0, -1, -1, -1, -1, -1]
    assert schedule.session.tolist() == [-1] * 8
    assert make.predecessors(schedule).tolist() == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert schedule.pause_ns.tolist() == [0] * 8


def test_a_single_stream_sends_one_request_after_the_other() -> None:
    schedule = planned("single_stream", requests=3)
    assert schedule.stream.tolist() == [0, 0, 0]
    assert schedule.due_ns.tolist() == [0, -1, -1]


def test_the_requests_of_a_query_are_sent_together() -> None:
    schedule = planned("multi_stream", requests=7, samples_per_query=3, cold=1)
    assert schedule.together == 3
    assert schedule.due_ns.tolist() == [-1, 0, 0, 0, -1, -1, -1, -1]
    assert schedule.stream.tolist() == [-1, 0, 1, 2, 0, 1, 2, 0]
    assert make.predecessors(schedule).tolist() == [-1, -1, -1, -1, 3, 3, 3, 6]


@pytest.mark.parametrize(
    ("duration_s", "streams", "expected"), [(28.0, 1, 140_001), (8.0, 64, 160_001), (1e6, 8, MAX_SESSION_REQUESTS), (0.001, 100, 200)]
)
def test_more_is_scheduled_than_an_engine_answers(duration_s: float, streams: int, expected: int) -> None:
    # 5000 a second in one stream, 20,000 in all, a million in a launch, and two for each stream
    asked = Arrivals(duration_s=duration_s, warm_up_s=0.0)
    assert count(asked, streams) == expected
    assert count(asked.model_copy(update={"requests": 5}), streams) == 5


def test_a_stream_has_one_conversation_after_the_other() -> None:
    prompts = {"turns": 2, "tool_steps": 1, "think_s": 0.0, "tool_s": 0.0}
    schedule = planned("closed", load=2, requests=16, prompts=prompts)
    assert schedule.session[::2].tolist() == [0, 0, 0, 0, 2, 2, 2, 2]
    assert schedule.session[1::2].tolist() == [1, 1, 1, 1, 3, 3, 3, 3]
    assert schedule.turn[::2].tolist() == [0, 1, 2, 3] * 2
    # of four requests the second and the fourth bring a tool's result
    assert schedule.pause_kind[::2].tolist() == [0, TOOL, 0, TOOL, 0, TOOL, 0, TOOL]
    assert schedule.pause_ns.tolist() == [0] * 16
    assert schedule.tokens_in[::2].tolist() == [100, 64, 100, 64] * 2


@pytest.mark.parametrize(("streams", "turns", "conversations"), [(8, 3, 21), (4, 2, 1), (5, 7, 5), (1, 4, 3)])
def test_as_many_requests_as_conversations_have_turns_are_whole_ones(streams: int, turns: int, conversations: int) -> None:
    """Every conversation has each turn once, its stream sends nothing else in between, and each request follows the one before it."""
    schedule = planned("closed", load=streams, requests=turns * conversations, prompts={"turns": turns})
    assert len(schedule) == turns * conversations
    assert sorted(set(schedule.session.tolist())) == list(range(conversations))
    for session in range(conversations):
        mine = np.flatnonzero(schedule.session == session)
        assert schedule.turn[mine].tolist() == list(range(turns))
        assert make.predecessors(schedule)[mine[1:]].tolist() == mine[:-1].tolist()
    for stream in range(streams):
        sent = schedule.session[schedule.stream == stream].tolist()
        assert sent == sorted(sent)


def test_thinking_and_tools_take_exponential_times() -> None:
    prompts = {"turns": 3, "tool_steps": 2, "think_s": 2.0, "tool_s": 0.25}
    schedule = planned("closed", load=50, requests=90_000, prompts=prompts)
    think, tool = (schedule.pause_ns[schedule.pause_kind == kind] / S for kind in (THINK, TOOL))
    # of the 9 requests of a conversation 2 come after thinking and 6 after a tool
    assert (len(think), len(tool)) == (20_000, 60_000)
    assert stats.kstest(think, "expon", args=(0, 2.0)).pvalue > 0.01
    assert stats.kstest(tool, "expon", args=(0, 0.25)).pvalue > 0.01
    assert set(schedule.pause_ns[schedule.turn == 0].tolist()) == {0}


def test_users_think_between_conversations_too_and_do_not_begin_together() -> None:
    schedule = planned("users", load=2000, requests=20_000, prompts={"turns": 2, "think_s": 3.0})
    first = schedule.due_ns[:2000] / S
    assert stats.kstest(first, "expon", args=(0, 3.0)).pvalue > 0.01
    again = (schedule.due_ns < 0) & (schedule.turn == 0)
    assert stats.kstest(schedule.pause_ns[again] / S, "expon", args=(0, 3.0)).pvalue > 0.01
    assert set(schedule.pause_kind[schedule.due_ns < 0].tolist()) == {THINK}


def test_users_of_one_turn_have_conversations_of_one_request() -> None:
    schedule = planned("users", load=2, requests=6, prompts={"think_s": 1.0})
    assert schedule.session.tolist() == [0, 1, 2, 3, 4, 5]
    assert schedule.turn.tolist() == [0] * 6


@pytest.mark.slow
def test_requests_that_pauses_alone_make_too_late_are_left_out() -> None:
    prompts = {"turns": 5, "think_s": 10.0}
    schedule = planned("users", load=20, duration_s=30.0, prompts=prompts)
    assert len(schedule) < 200  # about 20 users * 30 s / 10 s
    follows = make.predecessors(schedule)
    earliest = np.zeros(len(schedule), dtype=np.int64)
    for number in range(len(schedule)):
        before = earliest[follows[number]] if follows[number] >= 0 else 0
        earliest[number] = before + schedule.pause_ns[number] + max(schedule.due_ns[number], 0)
    assert (earliest < 30 * S).all()
    assert (np.diff(np.sort(earliest)[-20:]) >= 0).all()


def test_new_users_arrive_at_a_rate_and_have_a_conversation_each() -> None:
    prompts = {"turns": 2, "think_s": 1.0}
    schedule = planned("users", load=50.0, duration_s=100.0, prompts=prompts)
    begins = schedule.due_ns[schedule.turn == 0]
    assert abs(len(begins) - 5000) < 4 * 5000**0.5
    assert (begins >= 0).all()
    assert (schedule.due_ns[schedule.turn == 1] == -1).all()
    assert (schedule.stream == -1).all()
    assert make.predecessors(schedule)[1] == 0


def test_arrivals_of_an_open_loop_start_conversations() -> None:
    schedule = planned("constant", load=2.0, duration_s=2.0, prompts={"turns": 3, "think_s": 1.0})
    assert schedule.session.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert schedule.due_ns.tolist() == [0, -1, -1, S // 2, -1, -1, S, -1, -1, 3 * S // 2, -1, -1]
    cut = planned("constant", load=2.0, duration_s=2.0, requests=7, prompts={"turns": 3, "think_s": 1.0})
    assert cut.session.tolist() == [0, 0, 0, 1, 1, 1, 2]
