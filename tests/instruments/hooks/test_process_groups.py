"""When is a collective over?  Never later than the step that waited for it, and not known at all where the host cannot know it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.hooks.collective_calls import Calls
from fireassay.instruments.hooks.process_groups import noted
from fireassay.instruments.hooks.step_communication import covered

MS = 1_000_000


class Future:
    """Complete when told; its callback may come late, as one that waits for the interpreter's lock does."""

    def __init__(self) -> None:
        self.complete = False
        self.callbacks: list[Any] = []

    def done(self) -> bool:
        return self.complete

    def add_done_callback(self, callback: Any) -> None:
        self.callbacks.append(callback)


GROUP = SimpleNamespace(group_name="0", size=lambda: 2)


def tensor(*, cuda: bool = False) -> Any:
    return SimpleNamespace(numel=lambda: 8, element_size=lambda: 4, dtype="torch.float32", is_cuda=cuda)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_late_callback_does_not_make_a_collective_longer(clock: FakeClock) -> None:
    calls, future = Calls(clock.now_ns), Future()
    call = calls.begin(GROUP, "all_reduce", [tensor()])
    noted(None, calls, call, SimpleNamespace(get_future=lambda: future))
    clock.sleep(0.005)
    future.complete = True
    calls.collect()
    clock.sleep(0.020)
    future.callbacks[0](future)
    (found,) = calls.taken()
    assert found.end is not None
    assert found.end - found.begin == 5 * MS
    assert (found.nbytes, found.dtype, found.future) == (32, "float32", None)


def test_a_collective_that_is_not_over_waits_for_its_end_in_order(clock: FakeClock) -> None:
    calls, futures = Calls(clock.now_ns), [Future(), Future()]
    for future in futures:
        noted(None, calls, calls.begin(GROUP, "all_reduce", [tensor()]), SimpleNamespace(get_future=lambda one=future: one))
    futures[1].complete = True
    assert [call.number for call in calls.taken()] == [1]
    futures[0].complete = True
    assert [call.number for call in calls.taken()] == [0]
    assert calls.taken() == []


def test_the_end_of_a_gpus_collective_is_not_known_to_the_host(clock: FakeClock) -> None:
    """Its future is complete once it is enqueued, and a function that waited only made the stream wait."""
    calls, future = Calls(clock.now_ns), Future()
    future.complete = True
    asked = calls.begin(GROUP, "all_reduce", [tensor(cuda=True)])
    noted(None, calls, asked, SimpleNamespace(get_future=lambda: future))
    waited = calls.begin(GROUP, "all_gather", [tensor(cuda=True)])
    calls.over(waited)
    found = calls.taken()
    assert [(call.end, call.on_gpu) for call in found] == [(None, True), (None, True)]
    assert future.callbacks == []


def test_an_operation_without_a_future_is_told_without_an_end_and_not_kept(clock: FakeClock) -> None:
    def none() -> Any:
        raise RuntimeError("no future")

    calls = Calls(clock.now_ns)
    noted(None, calls, calls.begin(GROUP, "send", tensor()), SimpleNamespace(get_future=none))
    assert [call.end for call in calls.taken()] == [None]
    assert calls.taken() == []


def test_a_collective_belongs_to_the_step_that_made_it(clock: FakeClock) -> None:
    calls, future = Calls(clock.now_ns), Future()
    calls.step = 3
    noted(None, calls, calls.begin(GROUP, "all_reduce", [tensor()]), SimpleNamespace(get_future=lambda: future))
    calls.step, future.complete = 4, True
    assert [call.step for call in calls.taken()] == [3]


def test_what_is_under_way_at_the_same_time_counts_once() -> None:
    assert covered([(0, 4), (2, 6), (8, 9)]) == 7
    assert covered([]) == 0
