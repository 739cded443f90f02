"""What is waited for after the last gradient is exposed communication once, whoever waits for it."""

from __future__ import annotations

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.declared import COMMUNICATION

pytestmark = pytest.mark.torch

MS = 1_000_000


def test_waiting_inside_of_the_tail_is_not_counted_again() -> None:
    """As FSDP2 does: a callback of the engine waits 5 ms for the last reduction; before it, 2 ms were waited for inside the pass."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    clock, sink = FakeClock(), MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here"), sink, now=clock.now_ns)
    attached = Attached(torch, recorder, clock.now_ns)
    attached.communication.others = True
    engine = torch.autograd.Variable._execution_engine  # type: ignore[attr-defined]
    weight = torch.ones(1, requires_grad=True)

    def waited(ms: int) -> None:
        clock.sleep(ms / 1000)
        attached.calls.blocked_ns += ms * MS

    attached.request()
    loss = (weight * 2).sum()
    weight.register_hook(lambda _: (waited(2), engine.queue_callback(lambda: waited(5)), None)[-1])
    attached.backward((loss,), True)
    loss.backward()
    attached.backwarded()
    optimizer = object()
    attached.step(optimizer)
    attached.stepped(optimizer)
    attached.request()
    rows = [dict(zip(COMMUNICATION.column_names, row, strict=True)) for row in sink.of("communication")]
    assert {row["method"]: row["exposed_ns"] for row in rows} == {"engine": 5 * MS, "group": 7 * MS}


def test_a_script_whose_collectives_are_not_seen_is_not_told_to_expose_none() -> None:
    """As DTensor's, which no Python function of torch.distributed asks for: the microseconds at the end of the engine are not all of it."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    clock, sink = FakeClock(), MemorySink()
    identity = Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here")
    attached = Attached(torch, Recorder(identity, sink, now=clock.now_ns), clock.now_ns)
    attached.communication.others = True
    weight, optimizer = torch.ones(1, requires_grad=True), object()
    attached.request()
    loss = (weight * 2).sum()
    attached.backward((loss,), True)
    loss.backward()
    attached.backwarded()
    attached.step(optimizer)
    attached.stepped(optimizer)
    attached.request()
    assert sink.of("communication") == []
    assert sink.of("waits") == []
    assert len(sink.of("steps")) == 1


def test_what_interrupts_the_hook_behind_a_backward_pass_is_no_waiting_of_that_pass() -> None:
    """Another program gets the processor for 12 ms while the hook looks at what is over: the pass had ended, and so had its waiting."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    clock, sink = FakeClock(), MemorySink()
    identity = Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here")
    attached = Attached(torch, Recorder(identity, sink, now=clock.now_ns), clock.now_ns)
    attached.communication.others = True
    attached.calls.seen = True
    attached.calls.collect = lambda: clock.sleep(0.012)  # type: ignore[method-assign]
    engine = torch.autograd.Variable._execution_engine  # type: ignore[attr-defined]
    weight, optimizer = torch.ones(1, requires_grad=True), object()
    attached.request()
    loss = (weight * 2).sum()
    weight.register_hook(lambda _: engine.queue_callback(lambda: clock.sleep(0.005)))
    attached.backward((loss,), True)
    loss.backward()
    attached.backwarded()
    attached.step(optimizer)
    attached.stepped(optimizer)
    attached.request()
    waited = [row for row in sink.of("waits") if "backward" in row]
    assert [row[-1] for row in waited] == [5 * MS]
