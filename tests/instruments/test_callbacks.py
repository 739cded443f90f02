"""One line for those who want it: what frameworks say of evaluations and checkpoints, and nothing outside of a launch.

The frameworks are stand-ins here, so that none of them has to be installed; the corpus runs the real ones without a callback.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments import attach
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch

MS = 1_000_000
HERE = "fireassay.instruments.callbacks"


class Loader:
    """An iterator of a loader whose samples are unknown."""

    _assay_source = None


class RecordData:
    """A process whose steps are seen by hooks, with a step under way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        from fireassay.instruments.callbacks import training_pauses
        from fireassay.instruments.hooks.steps import Attached

        self.clock, self.sink = FakeClock(), MemorySink()
        identity = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
        self.recorder = Recorder(identity, self.sink, now=self.clock.now_ns)
        self.attached = Attached(torch, self.recorder, self.clock.now_ns)
        monkeypatch.setattr(attach, "_current", self.attached)
        monkeypatch.setattr(training_pauses, "now", self.clock.now_ns)
        self.attached.ask()

    def wait(self, ms: int) -> None:
        self.clock.sleep(ms / 1000)

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def events(self) -> list[tuple[str, int]]:
        return [(row["kind"], row["duration_ns"]) for row in self.of("events") if row["duration_ns"] is not None]

    def stepped(self) -> dict[str, Any]:
        """The step, ended now."""
        optimizer = object()
        self.attached.step(optimizer)
        self.attached.stepped(optimizer)
        self.attached.ask()
        return self.of("steps")[-1]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> RecordData:
    return RecordData(monkeypatch)


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins, and callbacks that are built on them."""
    for name, base in (("lightning", None), ("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback")):
        module = ModuleType(name)
        if base is not None:
            setattr(module, base, type(base, (), {}))
        monkeypatch.setitem(sys.modules, name, module)
    names = [f"{HERE}.{name}" for name in ("lightning", "hf")]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in names:
        sys.modules.pop(name, None)


def callback(name: str) -> Any:
    return importlib.import_module(f"{HERE}.{name}").AssayCallback()


class Trainer:
    """Of Lightning."""

    def __init__(self, measured: RecordData | None = None) -> None:
        self.measured, self.saved = measured, 0

    def save_checkpoint(self, path: str) -> str:
        if self.measured is not None:
            self.measured.wait(7)
        self.saved += 1
        return path


@pytest.mark.usefixtures("frameworks")
def test_lightning_s_validation_is_no_training_and_is_not_looked_at(measured: RecordData) -> None:
    own = callback("lightning")
    measured.wait(10)
    own.on_validation_start(None, None)
    looked_at = measured.attached.active
    assert not looked_at, "its passes and batches are not the step's"
    measured.wait(5)
    own.on_validation_end(None, None)
    assert measured.attached.active
    step = measured.stepped()
    assert step["checkpoint_ns"] == 5 * MS
    assert step["end_ns"] - step["begin_ns"] == 15 * MS
    assert ("evaluation", 5 * MS) in measured.events()


@pytest.mark.usefixtures("frameworks")
def test_lightning_s_checkpoints_are_timed_and_its_trainer_is_left_as_it_was(measured: RecordData) -> None:
    own, trainer = callback("lightning"), Trainer(measured)
    own.setup(trainer, None, "fit")
    own.setup(trainer, None, "fit")
    assert trainer.save_checkpoint("here") == "here"
    own.teardown(trainer, None, "fit")
    assert vars(trainer).keys() == {"measured", "saved"}
    assert measured.stepped()["checkpoint_ns"] == 7 * MS
    assert measured.events()[0] == ("checkpoint_save", 7 * MS)
    assert (trainer.saved, measured.sink.checkpoints) == (1, 1)


@pytest.mark.usefixtures("frameworks")
def test_a_validation_that_fails_does_not_stop_the_measuring(measured: RecordData) -> None:
    own = callback("lightning")
    own.on_validation_start(None, None)
    own.on_exception(None, None, ValueError("no"))
    assert measured.attached.active
    assert [kind for kind, _ in measured.events()] == []


@pytest.mark.usefixtures("frameworks")
def test_the_hf_trainer_s_checkpoint_lasts_from_the_event_before_it(measured: RecordData) -> None:
    own = callback("hf")
    measured.wait(20)
    own.on_step_end(None, None, None)
    measured.wait(3)
    own.on_log(None, None, None, logs={})
    measured.wait(40)
    own.on_save(None, None, None)
    assert measured.stepped()["checkpoint_ns"] == 40 * MS
    assert measured.events()[0] == ("checkpoint_save", 40 * MS)
    assert measured.sink.checkpoints == 1


def test_a_checkpoint_after_an_evaluation_is_taken_off_the_step_once(measured: RecordData) -> None:
    """The hooks see the evaluation from its batch to the next batch that is trained on; the checkpoint lies in between."""
    import torch

    attached, model, loader = measured.attached, torch.nn.Linear(1, 1), Loader()
    measured.stepped()
    attached.batch_ready(loader, [torch.zeros(2, 1)])
    with torch.no_grad():
        attached.forward(model)
        measured.wait(30)
        attached.forwarded()
    saving = measured.clock.now_ns()
    measured.wait(12)
    attached.saved(saving, measured.clock.now_ns())
    attached.ask()
    measured.wait(1)
    attached.batch_ready(loader, [torch.zeros(2, 1)])
    attached.forward(model)
    measured.wait(4)
    attached.forwarded()
    step = measured.stepped()
    assert [event for event in measured.events() if event[0] != "first_step"] == [("checkpoint_save", 12 * MS), ("evaluation", 30 * MS)]
    assert (step["data_ns"], step["forward_ns"], step["checkpoint_ns"]) == (1 * MS, 4 * MS, 42 * MS)
    assert step["end_ns"] - step["begin_ns"] == 47 * MS


def test_accelerate_s_checkpoints_are_timed_even_if_one_fails(measured: RecordData) -> None:
    from fireassay.instruments.callbacks.accelerate import measured as marked

    def save_state(fails: bool) -> None:
        measured.wait(6)
        if fails:
            raise OSError("disk full")

    accelerator = marked(SimpleNamespace(save_state=save_state, load_state=lambda: measured.wait(2)))
    accelerator.load_state()
    accelerator.save_state(False)
    with pytest.raises(OSError, match="disk full"):
        accelerator.save_state(True)
    assert measured.events() == [("checkpoint_load", 2 * MS), ("checkpoint_save", 6 * MS)]
    assert measured.stepped()["checkpoint_ns"] == 14 * MS


@pytest.mark.usefixtures("frameworks")
def test_outside_of_a_launch_nothing_is_put_into_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.instruments.callbacks.accelerate import measured as marked

    monkeypatch.delenv("FIREASSAY_LAUNCH_DIR", raising=False)
    monkeypatch.setattr(attach, "_current", None)
    monkeypatch.setattr(attach, "arm", lambda: pytest.fail("hooks"))
    lightning, hf, trainer = callback("lightning"), callback("hf"), Trainer()
    lightning.setup(trainer, None, "fit")
    trainer.save_checkpoint("here")
    lightning.on_validation_start(None, None)
    lightning.on_validation_end(None, None)
    hf.on_step_end(None, None, None)
    hf.on_save(None, None, None)
    marked(SimpleNamespace(save_state=int, load_state=int)).save_state()
    assert trainer.saved == 1


def test_hooks_that_are_in_are_not_put_in_twice(measured: RecordData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "_attach", lambda _: pytest.fail("twice"))
    attach.arm()
    assert attach.current() is measured.attached
