"""What an unmodified script saves and loads is seen, if it is the state of its training, and nothing else."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.restored_step import States
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Training:
    """A script's training with the hooks in."""

    def __init__(self, folder: Path, incarnation: int = 0, kind: str = "Adam") -> None:
        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.steps import Attached

        self.sink, self.undo = MemorySink(), list[Callable[[], None]]()
        identity = Identity(launch=0, rank=0, workers=1, incarnation=incarnation, seed=0, host="here")
        self.recorder = Recorder(identity, self.sink)
        self.recorder.model.states = States(folder, 0, incarnation)
        self.attached = Attached(torch, self.recorder)
        torch_hooks.install(torch, self.attached, self.undo)
        torch.manual_seed(incarnation)  # another start than the one that is restored
        self.model = torch.nn.Linear(4, 4)
        self.optimizer = getattr(torch.optim, kind)(self.model.parameters(), lr=0.001)

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.optimizer.zero_grad()
            self.model(torch.ones(2, 4)).square().sum().backward()
            self.optimizer.step()

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def close(self) -> None:
        self.attached.close()
        self.recorder.close()
        while self.undo:
            self.undo.pop()()

    def events(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        rows = [dict(zip(TABLES["events"].column_names, row, strict=True)) for row in self.sink.of("events")]
        return [(row["step"], json.loads(row["detail"])) for row in rows if row["kind"] == kind]


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Training]]:
    monkeypatch.chdir(tmp_path)
    made: list[Training] = []

    def make(**words: Any) -> Training:
        made.append(Training(tmp_path / "launch", **words))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_checkpoint_is_seen_with_its_file_and_its_step(training: Callable[..., Training]) -> None:
    one = training()
    one.step(3)
    torch.save(one.state(), "last.pt")
    one.step(1)
    assert one.events("checkpoint_save") == [(3, {"files": ["last.pt"]})]
    assert one.sink.checkpoints == 1


def test_files_written_after_the_same_step_are_one_checkpoint(training: Callable[..., Training]) -> None:
    one = training()
    one.step(2)
    torch.save(one.model.state_dict(), "model.pt")
    torch.save(one.optimizer.state_dict(), "optimizer.pt")
    one.step(1)
    torch.save(one.model, Path("model.pt"))
    assert [step for step, _ in one.events("checkpoint_save")] == [2, 2, 3]
    assert one.sink.checkpoints == 2


def test_arguments_may_be_given_by_name(training: Callable[..., Training]) -> None:
    one = training()
    one.step(2)
    torch.save(f="last.pt", obj=one.state())
    found = torch.load(f="last.pt")
    one.model.load_state_dict(state_dict=found["model"])
    one.optimizer.load_state_dict(state_dict=found["optimizer"])
    assert one.events("checkpoint_save") == [(2, {"files": ["last.pt"]})]
    assert {detail["files"][0] for _, detail in one.events("checkpoint_load")} == {"last.pt"}


def test_what_is_no_state_of_the_training_is_no_checkpoint(training: Callable[..., Training]) -> None:
    one = training()
    torch.save(one.state(), "before.pt")  # nothing is trained yet
    one.step(1)
    torch.save({"loss": torch.zeros(500), "scores": [torch.ones(3, 3)] * 50}, "metrics.pt")
    torch.save([1, 2, "three"], "numbers.pt")
    assert one.events("checkpoint_save") == []


def test_adapters_that_alone_are_trained_are_the_state(training: Callable[..., Training]) -> None:
    one = training()
    one.model.bias.requires_grad_(False)
    one.model.add_module("frozen", torch.nn.Linear(1000, 10).requires_grad_(False))
    one.step(1)
    torch.save({"weight": one.model.weight}, "adapter.pt")
    assert [step for step, _ in one.events("checkpoint_save")] == [1]


def test_a_save_that_fails_is_no_checkpoint_and_reaches_the_script(training: Callable[..., Training]) -> None:
    one = training()
    one.step(1)
    with pytest.raises((RuntimeError, OSError)):
        torch.save(one.state(), "no/such/folder/last.pt")
    one.step(1)
    assert one.events("checkpoint_save") == []
    assert one.recorder.active
    assert not one.recorder._phases.paused


def test_a_save_in_another_thread_takes_no_time_from_the_step(training: Callable[..., Training]) -> None:
    class SlowDisk(io.BytesIO):
        name = "beside.pt"

        def write(self, data: Any) -> int:
            time.sleep(0.005)  # of some seventy writes
            return super().write(data)

    one = training()
    one.step(3)
    thread = threading.Thread(target=lambda: torch.save(one.state(), SlowDisk()))
    begin = time.monotonic_ns()
    thread.start()
    thread.join()
    took = time.monotonic_ns() - begin
    one.step(2)
    assert one.events("checkpoint_save") == [(3, {"files": ["beside.pt"], "beside": True})]
    paused = TABLES["steps"].column_names.index("checkpoint_ns")
    assert [(row[paused] or 0) < took for row in one.sink.of("steps") if row[3] == 2] == [True]


def test_a_file_that_is_given_to_the_model_is_a_loaded_checkpoint(training: Callable[..., Training]) -> None:
    before = training()
    before.step(3)
    torch.save(before.state(), "last.pt")
    before.close()
    one = training()
    found = torch.load("last.pt")
    one.model.load_state_dict(found["model"])
    one.optimizer.load_state_dict(found["optimizer"])
    assert [detail for _, detail in one.events("checkpoint_load")] == [{"files": ["last.pt"]}] * 2


def test_a_state_that_comes_from_memory_and_data_that_come_from_a_file_are_no_checkpoint(training: Callable[..., Training]) -> None:
    torch.save({"x": torch.ones(2, 4)}, "data.pt")
    one = training()
    torch.load("data.pt")
    one.step(1)
    target = torch.nn.Linear(4, 4)
    for _ in range(3):
        one.step(1)
        target.load_state_dict(one.model.state_dict())  # a target network
    assert one.events("checkpoint_load") == []


@pytest.mark.parametrize("kind", ["Adam", "SGD"])
def test_a_restarted_script_goes_on_at_the_step_that_it_restored(training: Callable[..., Training], kind: str) -> None:
    before = training(kind=kind)
    for _ in range(3):
        before.step(5)
        torch.save(before.state(), "last.pt")
    before.step(4)  # lost
    before.close()
    after = training(incarnation=1, kind=kind)
    found = torch.load("last.pt")
    after.model.load_state_dict(found["model"])
    after.optimizer.load_state_dict(found["optimizer"])
    after.step(2)
    after.close()
    assert [(step, detail["by"]) for step, detail in after.events("resumed")] == [(15, "parameters")]
    assert [row[3] for row in after.sink.of("steps")] == [15, 16]
    names = TABLES["telemetry"].column_names
    counters = {row[names.index("counter")]: row[names.index("value")] for row in after.sink.of("telemetry")}
    assert counters["own_steps"] == 2  # that the cost is spread over, without those of the first start


def test_a_restarted_script_that_begins_anew_begins_at_step_0(training: Callable[..., Training]) -> None:
    before = training()
    before.step(5)
    before.close()
    after = training(incarnation=1)
    with torch.no_grad():  # the same seed
        torch.manual_seed(0)
        after.model.load_state_dict(torch.nn.Linear(4, 4).state_dict())
    after.step(1)
    after.close()
    assert [step for step, _ in after.events("resumed")] == [0]


def test_a_state_that_nobody_saw_being_saved_is_known_by_the_optimizers_counter(training: Callable[..., Training]) -> None:
    import copy

    before = training()
    before.step(11)
    kept = copy.deepcopy(before.state())  # as a script that writes its own format does
    before.step(4)
    before.close()
    after = training(incarnation=1)
    after.model.load_state_dict(kept["model"])
    after.optimizer.load_state_dict(kept["optimizer"])
    after.step(1)
    after.close()
    assert [(step, detail["by"]) for step, detail in after.events("resumed")] == [(11, "updates")]


def test_what_cannot_be_known_is_said_to_be_so(training: Callable[..., Training]) -> None:
    before = training(kind="SGD")
    before.step(11)
    before.close()
    after = training(incarnation=1, kind="SGD")  # another seed, and nothing loaded
    after.step(2)
    after.close()
    ((step, detail),) = after.events("resumed")
    assert step is None
    assert "nor any observed checkpoint" in detail["why"]


def test_a_step_that_only_makes_the_optimizers_state_is_none(training: Callable[..., Training]) -> None:
    """As torch.distributed.checkpoint steps before it loads: by a rate of 0 and gradients of 0, before anything was trained."""
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

    one = training()
    get_optimizer_state_dict(one.model, one.optimizer)
    one.step(2)
    one.close()
    assert [row[3] for row in one.sink.of("steps")] == [0, 1]


def test_gradients_that_are_written_by_hand_are_trained_on(training: Callable[..., Training]) -> None:
    one = training(kind="SGD")
    for _ in range(3):  # an evolution strategy
        for parameter in one.model.parameters():
            parameter.grad = torch.ones_like(parameter)
        one.optimizer.step()
    one.close()
    assert len(one.sink.of("steps")) >= 2


def test_the_hooks_leave_nothing_behind(training: Callable[..., Training]) -> None:
    before = (torch.save, torch.load, torch.nn.Module.load_state_dict, torch.optim.Optimizer.load_state_dict)
    one = training()
    assert torch.save is not before[0]
    one.close()
    assert (torch.save, torch.load, torch.nn.Module.load_state_dict, torch.optim.Optimizer.load_state_dict) == before
