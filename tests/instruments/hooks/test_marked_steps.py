"""A script that marks its own steps: what communication takes of it is seen beside its marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments import attach
from fireassay.instruments.hooks import process_groups
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch

MS = 1_000_000


def recorder(clock: FakeClock, workers: int = 2) -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    identity = Identity(launch=0, rank=0, workers=workers, incarnation=0, seed=0, host="here")
    return Recorder(identity, sink, now=clock.now_ns), sink


def rows(sink: MemorySink, table: str) -> list[dict[str, Any]]:
    return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in sink.of(table)]


def test_marks_give_the_steps_though_hooks_were_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a script does that imports torch before it starts the probe."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    clock = FakeClock()
    probe, sink = recorder(clock, workers=1)
    monkeypatch.setattr(attach, "_current", Attached(torch, probe, clock.now_ns))
    monkeypatch.setattr(attach, "_marked", None)
    attach.mark(probe)
    for _ in probe.steps(range(2)):
        with probe.phase("forward"):
            clock.sleep(0.001)
    probe.close()
    assert [row["forward_ns"] for row in rows(sink, "steps")] == [MS] * 2
    assert "probe_error" not in {row["kind"] for row in rows(sink, "events")}


def test_waiting_after_the_last_gradient_and_inside_of_the_pass_is_told_of_the_marked_phase() -> None:
    """3 ms of computing and 2 of waiting in a marked backward pass, and 5 after its last gradient; the second step has none."""
    import torch

    from fireassay.instruments.hooks.marked_steps import Marked

    clock = FakeClock()
    probe, sink = recorder(clock)
    marked = Marked(torch, probe)
    marked.communication.others = True
    probe.attach_communication(marked)
    engine = torch.autograd.Variable._execution_engine
    weight: Any = torch.ones(1, requires_grad=True)

    def waited(ms: int) -> None:
        clock.sleep(ms / 1000)
        marked.calls.blocked_ns += ms * MS
        marked.calls.waits.waited(ms * MS)

    def computed(_: Any) -> None:
        clock.sleep(0.003)
        waited(2)
        engine.queue_callback(lambda: waited(5))

    for step in probe.steps(range(2)):
        if step == 0:
            with probe.phase("backward"):
                loss = (weight * 2).sum()
                hook = weight.register_hook(computed)
                marked.backward((loss,), True)
                loss.backward()
                marked.backwarded()
            hook.remove()
    probe.close()
    assert [(row["step"], row["phase"], row["waiting_ns"]) for row in rows(sink, "waits")] == [(0, "backward", 7 * MS)]
    told = {row["method"]: row["exposed_ns"] for row in rows(sink, "communication")}
    assert told == {"engine": 5 * MS, "group": 7 * MS}
    assert [(row["backward_ns"], row["exposed_comm_ns"]) for row in rows(sink, "steps")] == [(10 * MS, 7 * MS), (None, None)]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Recorder, MemorySink, Any]]:
    """The hooks are in; and a call that asks for a collective of 16 bytes and waits 100 ms for it, as torch's own functions do."""
    import torch

    clock = FakeClock()
    probe, sink = recorder(clock)
    monkeypatch.setattr(attach, "_marked", None)
    monkeypatch.setattr(attach, "_undo", [])
    monkeypatch.setenv("FIREASSAY_ATTACH", "1")
    monkeypatch.setattr(torch.distributed.Work, "wait", lambda *_: clock.sleep(0.1))
    attach.mark(probe)

    def reduce() -> None:
        marked: Any = probe._communication
        call = marked.calls.begin(Group(), "all_reduce", [torch.ones(4)])
        wait: Any = torch.distributed.Work.wait
        wait(None)
        marked.calls.over(call)

    try:
        yield probe, sink, reduce
    finally:
        attach.detach()


def test_waiting_inside_of_a_pause_is_not_exposed_communication_of_its_step(waiting: Any) -> None:
    """100 ms of the step's own and 100 while a checkpoint is saved, which is taken off the step's time."""
    probe, sink, reduce = waiting
    for step in probe.steps(range(2)):
        with probe.phase("optimizer"):
            if step == 0:
                reduce()
        with probe.checkpoint_save():
            reduce()
    probe.close()
    assert [(row["checkpoint_ns"], row["exposed_comm_ns"]) for row in rows(sink, "steps")] == [(100 * MS, 100 * MS), (100 * MS, None)]
    assert [(row["step"], row["bytes"], row["total_ns"]) for row in rows(sink, "communication")] == [(0, 16, 100 * MS)]
    assert [row["step"] for row in rows(sink, "collectives")] == [0, None, None]
    assert [row["waiting_ns"] for row in rows(sink, "waits")] == [100 * MS]


def test_waiting_between_two_loops_and_after_the_last_belongs_to_no_step(waiting: Any) -> None:
    probe, sink, reduce = waiting
    reduce()
    for _ in range(2):
        for _ in probe.steps(range(1)):
            with probe.phase("optimizer"):
                reduce()
        reduce()
    probe.close()
    assert [row["exposed_comm_ns"] for row in rows(sink, "steps")] == [100 * MS, 100 * MS]
    assert [(row["step"], row["bytes"], row["total_ns"]) for row in rows(sink, "communication")] == [(0, 16, 100 * MS), (1, 16, 100 * MS)]
    assert [row["step"] for row in rows(sink, "collectives")] == [None, 0, None, 1, None]


def test_what_was_made_before_the_script_marked_anything_is_seen_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group that a DistributedDataParallel was given notes its calls into what the marked steps take."""
    import torch

    from fireassay.instruments.hooks.marked_steps import Marked
    from fireassay.instruments.hooks.steps import Attached

    probe, sink = recorder(FakeClock())
    before = Attached(torch, probe, probe._now)
    monkeypatch.setattr(attach, "_current", before)
    monkeypatch.setattr(attach, "_marked", None)
    monkeypatch.setattr(attach, "_undo", [])
    monkeypatch.setenv("FIREASSAY_ATTACH", "1")
    before.calls.begin(Group(), "all_reduce", [torch.ones(2)])  # of no step
    attach.mark(probe)
    try:
        attach.mark(probe)  # as often as a script likes
        assert attach.current() is None
        assert isinstance(probe._communication, Marked)
        assert probe._communication.calls is before.calls
        for _ in probe.steps(range(1)):
            with probe.phase("forward"):
                call = before.calls.begin(Group(), "all_reduce", [torch.ones(4)])
                before.calls.over(call)
        probe.close()
        assert [(row["bytes"], row["step"]) for row in rows(sink, "collectives")] == [(16, 0)]
    finally:
        attach.detach()
    assert torch.distributed.all_reduce is _original, "nothing of it is left in torch"


@pytest.mark.parametrize(("workers", "attach_is"), [(1, "1"), (2, "")])
def test_nothing_is_put_in_where_there_is_one_worker_or_nobody_wants_hooks(
    monkeypatch: pytest.MonkeyPatch, workers: int, attach_is: str
) -> None:
    probe, _ = recorder(FakeClock(), workers=workers)
    monkeypatch.setenv("FIREASSAY_ATTACH", attach_is)
    monkeypatch.setattr(attach, "_marked", None)
    monkeypatch.setattr(attach, "_undo", [])
    attach.mark(probe)
    assert attach._undo == []
    assert probe._communication is None


def test_calls_that_nobody_takes_any_more_are_not_kept() -> None:
    """A training that goes on after its recording has ended must not fill the memory."""
    import torch

    from fireassay.instruments.hooks.marked_steps import Marked

    probe, _ = recorder(FakeClock())
    marked = Marked(torch, probe)
    probe.attach_communication(marked)
    probe.close()
    name = "all_reduce"
    make = dict(process_groups.functions(torch, marked.calls))[name]
    make(lambda *_: None)(torch.ones(1))
    assert not marked.calls._open


@pytest.mark.parametrize(("workers", "attach_is"), [(1, "1"), (2, "")])
def test_a_group_made_before_marks_without_hooks_notes_nothing_more(monkeypatch: pytest.MonkeyPatch, workers: int, attach_is: str) -> None:
    """The reducer of a DistributedDataParallel keeps it; one worker alone would pay for what nobody takes."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    probe, _ = recorder(FakeClock(), workers=workers)
    before = Attached(torch, probe, probe._now)
    monkeypatch.setattr(attach, "_current", before)
    monkeypatch.setattr(attach, "_marked", None)
    monkeypatch.setattr(attach, "_undo", [])
    monkeypatch.setenv("FIREASSAY_ATTACH", attach_is)
    attach.mark(probe)
    reduce_by(before)
    assert not before.calls._open


def test_after_an_error_of_the_recorder_no_call_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody takes calls then, and the training may go on for days."""
    import torch

    from fireassay.instruments.hooks.steps import Attached

    probe, _ = recorder(FakeClock())
    attached = Attached(torch, probe, probe._now)
    reduce_by(attached)
    assert len(attached.calls.taken(everything=True)) == 1
    probe.fail(OSError("disk full"))
    reduce_by(attached)
    assert not attached.calls._open
    assert "disk full" in capsys.readouterr().err


def reduce_by(attached: Any) -> None:
    """As a DistributedDataParallel asks the group that it was given."""
    import torch

    class Inner:
        group_name = "default"

        def rank(self) -> int:
            return 0

        def size(self) -> int:
            return 2

        def allreduce(self, *_: Any) -> None:
            return None

    group: Any = process_groups.timed_group(torch, Inner(), attached.calls)
    group.allreduce([torch.ones(1)])


class Group:
    """Of two ranks."""

    group_name = "default"

    def size(self) -> int:
        return 2


def _the_original() -> Any:
    import torch

    return torch.distributed.all_reduce


_original = _the_original()
