"""Is the communication of steady steps, which is noted in fewer calls and told many steps at a time, told as that of any other step?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.hooks.step_communication import MANY, Pending, StepCommunication
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, LaunchSink, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch

STEPS = 90


class Rig:
    """A process group of one, which is taken for two, with the hooks in."""

    def __init__(self) -> None:
        import torch

        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.steps import Attached

        self.undo: list[Any] = []
        self.sink = MemorySink()
        identity = Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here")
        self.recorder = Recorder(identity, self.sink)
        self.attached: Any = Attached(torch, self.recorder)
        self.communication = self.attached.communication
        self.communication.others, self.communication.check_ranks = True, lambda: None
        torch_hooks.install(torch, self.attached, self.undo)
        self.steady: list[int] = []  # steps whose pass the reducer's first bucket told of
        watch = self.communication.by_reducer.watch
        self.communication.by_reducer.watch = lambda: (self.steady.append(self.recorder.step_number), watch())[-1]
        self.kept = 0  # rows that were kept back, at most

    def train(self, prepare: Any = lambda _: None, at: Any = lambda *_: None, steps: int = STEPS) -> None:
        """`prepare` is given the model, `at` the step and the model, before its forward pass."""
        import torch

        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
        prepare(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.utils.data.DataLoader(torch.randn(2 * steps, 4), batch_size=2)  # type: ignore[arg-type,var-annotated]
        for step, x in enumerate(data):
            optimizer.zero_grad()
            at(step, model)
            model(x).sum().backward()
            optimizer.step()
            self.kept = max(self.kept, len(self.communication.pending._steps))
        self.attached.close()
        assert self.recorder.active, "a hook failed"

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]


@pytest.fixture
def rig() -> Iterator[Rig]:
    import torch.distributed as dist

    store: Any = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    rig = Rig()
    try:
        yield rig
    finally:
        while rig.undo:
            rig.undo.pop()()
        rig.recorder.close()
        dist.destroy_process_group()


def test_a_steady_steps_communication_has_the_rows_of_any_other(rig: Rig) -> None:
    """One bucket of 4 x 4 + 4 numbers a step, which lies in its backward pass."""
    rig.communication.watched_steps.begins = lambda step: None  # all of them are watched
    rig.train()
    assert len(rig.steady) > STEPS / 2, "most steps are steady"
    assert rig.kept > 1, "their rows are made later"
    steps = {row["step"]: row for row in rig.rows("steps")}
    assert sorted(steps) == list(range(STEPS))
    calls = {row["step"]: row for row in rig.rows("collectives") if row["op"] == "all_reduce" and row["step"] is not None}
    told = {(row["step"], row["method"]): row for row in rig.rows("communication")}
    waits = {row["step"]: row for row in rig.rows("waits") if row["phase"] == "backward"}
    assert len(rig.rows("waits")) == len({(row["step"], row["phase"]) for row in rig.rows("waits")})
    for step in range(2, STEPS):  # the first two: DDP puts its buckets together
        call, engine, group = calls[step], told[step, "engine"], told[step, "group"]
        assert (call["bytes"], call["dtype"], call["size"]) == (80, "float32", 1)
        assert steps[step]["begin_ns"] < call["begin_ns"] < call["end_ns"] < steps[step]["end_ns"]
        assert group["total_ns"] == call["end_ns"] - call["begin_ns"]
        assert group["bytes"] == call["bytes"]
        assert 0 < engine["exposed_ns"] <= group["exposed_ns"] == steps[step]["exposed_comm_ns"]
        assert group["exposed_ns"] < steps[step]["backward_ns"]
        assert waits[step]["asking_ns"] > 0
        assert waits[step]["waiting_ns"] == engine["exposed_ns"]
    numbers = [row["call"] for row in sorted(rig.rows("collectives"), key=lambda row: row["begin_ns"])]
    assert numbers == list(range(len(numbers))), "numbered on, whichever way it was noted"


def test_a_steady_pass_without_synchronising_exposes_nothing(rig: Rig) -> None:
    """As `no_sync` does for averages that are farther apart: 0 s, not unknown; the next one that synchronises is told of."""

    def leaves_alone(step: int, model: Any) -> None:
        model.require_backward_grad_sync = step % 4 == 0

    rig.train(at=leaves_alone)
    told = {(row["step"], row["method"]): row for row in rig.rows("communication")}
    alone = [step for step in range(4, STEPS) if step % 4]
    assert {told[step, "group"]["bytes"] for step in alone} == {0}
    together = range(4, STEPS, 4)
    assert {told[step, "group"]["bytes"] for step in together} == {80}
    assert {told[step, "engine"]["exposed_ns"] for step in set(alone) & set(rig.steady)} == {0}
    assert min(told[step, "engine"]["exposed_ns"] for step in together) > 0


def test_where_somebody_waits_between_the_first_gradient_and_the_first_bucket_the_first_gradient_is_watched(rig: Rig) -> None:
    """As a library does that asks the engine before the reducer: its wait comes before the reducer's, and is exposed too."""
    import time

    import torch

    engine = torch.autograd.Variable._execution_engine  # type: ignore[attr-defined]

    def wait(model: Any) -> None:
        def before(_: Any) -> None:
            engine.queue_callback(lambda: time.sleep(0.0005))

        model.register_forward_hook(lambda _, __, output: (output.register_hook(before), None)[-1])

    rig.train(wait)
    assert rig.steady == []
    exposed = [row["exposed_ns"] for row in rig.rows("communication") if row["method"] == "engine"]
    assert min(exposed) >= 500_000


def test_rows_that_are_kept_back_are_written_with_the_next_flush(tmp_path: Path) -> None:
    """A kill loses no more of them than of any other row."""
    from fireassay.record.streams import END_MARK

    identity = Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here")
    sink = LaunchSink(tmp_path / "launch=0", identity, flush_s=3600.0)
    recorder = Recorder(identity, sink)
    pending = Pending(recorder, lambda error: pytest.fail(str(error)))
    recorder.before_flush(pending.record)
    for step in range(3):
        pending.add(StepCommunication(step, [], 5, 7, {"backward": 2}, {"backward": 5}, waiting_seen=True))
    folder = tmp_path / "launch=0"
    assert not list(folder.glob("communication.*"))
    sink.flush()
    (written,) = folder.glob("communication.*")
    assert written.stat().st_size > len(END_MARK)
    recorder.close()


def test_a_step_is_told_once_whoever_asks_and_after_so_many_steps_by_itself() -> None:
    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here"), sink)
    pending = Pending(recorder, lambda error: pytest.fail(str(error)))

    def add(step: int) -> None:
        pending.add(StepCommunication(step, [], 5, 7, {}, {}, waiting_seen=True))

    for step in range(MANY - 1):
        add(step)
    assert sink.rows == []
    add(MANY - 1)
    assert len(sink.of("communication")) == 2 * MANY
    asking = [threading.Thread(target=pending.record) for _ in range(4)]
    for step in range(MANY, 2 * MANY - 1):
        add(step)
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    told = [(row[3], row[4]) for row in sink.of("communication")]
    assert len(told) == len(set(told)) == 2 * (2 * MANY - 1)
