"""Looking at a batch is no training, unless it is trained on too."""

from __future__ import annotations

from typing import Any

import pytest

from assay.clock import FakeClock
from assay.instruments._recorder import Recorder
from assay.instruments._sink import Identity, MemorySink
from assay.record.tables import TABLES

pytestmark = pytest.mark.torch

MS = 1_000_000


class Script:
    """What hooks see of a script, on a clock set by hand: every pass takes 3 ms, every batch has 4 samples."""

    def __init__(self) -> None:
        import torch

        from assay.instruments._attached import Attached

        self.clock, self.sink, self.torch = FakeClock(), MemorySink(), torch
        identity = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
        self.attached = Attached(torch, Recorder(identity, self.sink, now=self.clock.now_ns), self.clock.now_ns)
        self.optimizer, self.model = object(), torch.nn.Linear(1, 1)

    def batch(self, iterator: object) -> None:
        self.attached.ask()
        self.attached.got(iterator, self.torch.ones(4, 1))

    def look(self, *, training: bool = True, gradients: bool = False) -> None:
        with self.torch.set_grad_enabled(gradients):
            self.attached.forward(self.model.train(training))
            self.clock.sleep(0.003)
            self.attached.forwarded()

    def learn(self) -> None:
        loss: Any = (self.model.weight * 2).sum()
        self.attached.backward((loss,), False)
        self.clock.sleep(0.003)
        self.attached.backwarded()
        self.attached.step(self.optimizer)
        self.attached.stepped(self.optimizer)

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def evaluations(self) -> list[int]:
        return [row["duration_ns"] for row in self.of("events") if row["kind"] == "evaluation"]


def test_a_teacher_that_looks_after_the_student_is_part_of_the_forward_pass() -> None:
    script, loader = Script(), object()
    for _ in range(2):
        script.batch(loader)
        script.look(gradients=True)
        script.look()
        script.learn()
    script.batch(loader)
    assert [(row["forward_ns"], row["backward_ns"], row["items"]) for row in script.of("steps")] == [
        (6 * MS, 3 * MS, 4.0)
    ] * 2
    assert script.evaluations() == []


def test_validation_that_forgets_to_switch_gradients_off_is_an_evaluation() -> None:
    """By the mode of the module: two batches of 3 ms between two steps, and neither their time nor their samples are training's."""
    script, loader, held_out = Script(), object(), object()
    script.batch(loader)
    script.look(gradients=True)
    script.learn()
    for _ in range(2):
        script.batch(held_out)
        script.look(training=False, gradients=True)
    for _ in range(2):
        script.batch(loader)
        script.look(gradients=True)
        script.learn()
    script.batch(loader)
    assert script.evaluations() == [6 * MS]
    assert [(row["forward_ns"], row["items"], row["checkpoint_ns"] or 0) for row in script.of("steps")] == [
        (3 * MS, 4.0, 0), (3 * MS, 4.0, 6 * MS), (3 * MS, 4.0, 0),
    ]  # fmt: skip


def test_a_model_that_is_trained_in_evaluation_mode_is_trained() -> None:
    """As whoever tunes a model whose statistics stay as they are does; two passes for a batch. It is watched like any other."""
    script, loader = Script(), object()
    for _ in range(2):
        script.batch(loader)
        script.look(training=False, gradients=True)
        script.look(training=False, gradients=True)
        script.learn()
    script.batch(loader)
    assert [(row["forward_ns"], row["items"], row["checkpoint_ns"] or 0) for row in script.of("steps")] == [
        (6 * MS, 4.0, 0)
    ] * 2
    assert script.evaluations() == []
    assert "parameter_hash" in {row["what"] for row in script.of("fingerprints")}
