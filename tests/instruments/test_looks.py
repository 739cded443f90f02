"""Looking at a batch is no training, unless it is trained on too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch

MS = 1_000_000


MADE: list[Script] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a recorder touches is as it was when it is closed: of a test that leaves it open the next one would find it touched."""
    yield
    while MADE:
        MADE.pop().recorder.close()


class Loader:
    """An iterator of a loader whose samples are unknown."""

    _assay_source = None


class Script:
    """What hooks see of a script, on a clock set by hand: every pass takes 3 ms, every batch has 4 samples."""

    def __init__(self) -> None:
        MADE.append(self)
        import torch

        from fireassay.instruments.hooks.steps import Attached

        self.clock, self.sink, self.torch = FakeClock(), MemorySink(), torch
        identity = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
        self.recorder = Recorder(identity, self.sink, now=self.clock.now_ns)
        self.attached = Attached(torch, self.recorder, self.clock.now_ns)
        self.optimizer, self.model = object(), torch.nn.Linear(1, 1)

    def batch(self, iterator: object) -> None:
        self.attached.request()
        self.attached.batch_ready(iterator, self.torch.ones(4, 1))

    def look(self, *, training: bool = True, gradients: bool = False) -> None:
        with self.torch.set_grad_enabled(gradients):
            self.attached.forward(self.model.train(training))
            self.clock.sleep(0.003)
            self.attached.forwarded()

    def learn(self) -> None:
        self.derive()
        self.update(0)

    def derive(self) -> None:
        loss: Any = (self.model.weight * 2).sum()
        self.attached.backward((loss,), False)
        self.clock.sleep(0.003)
        self.attached.backwarded()

    def update(self, ms: int, optimizer: object = None) -> None:
        self.attached.step(optimizer or self.optimizer)
        self.clock.sleep(ms / 1000)
        self.attached.stepped(optimizer or self.optimizer)

    def close(self) -> None:
        self.attached.close()
        self.recorder.close()

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def evaluations(self) -> list[int]:
        return [row["duration_ns"] for row in self.of("events") if row["kind"] == "evaluation"]


def test_a_teacher_that_looks_after_the_student_is_part_of_the_forward_pass() -> None:
    script, loader = Script(), Loader()
    for _ in range(2):
        script.batch(loader)
        script.look(gradients=True)
        script.look()
        script.learn()
    script.batch(loader)
    assert [(row["forward_ns"], row["backward_ns"], row["items"]) for row in script.of("steps")] == [(6 * MS, 3 * MS, 4.0)] * 2
    assert script.evaluations() == []


def test_validation_that_forgets_to_switch_gradients_off_is_an_evaluation() -> None:
    """By the mode of the module: two batches of 3 ms between two steps, and neither their time nor their samples are training's."""
    script, loader, held_out = Script(), Loader(), Loader()
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
        (3 * MS, 4.0, 0),
        (3 * MS, 4.0, 6 * MS),
        (3 * MS, 4.0, 0),
    ]


def test_a_model_that_is_trained_in_evaluation_mode_is_trained() -> None:
    """As whoever tunes a model whose statistics stay as they are does; two passes for a batch. It is watched like any other."""
    script, loader = Script(), Loader()
    for _ in range(2):
        script.batch(loader)
        script.look(training=False, gradients=True)
        script.look(training=False, gradients=True)
        script.learn()
    script.batch(loader)
    assert [(row["forward_ns"], row["items"], row["checkpoint_ns"] or 0) for row in script.of("steps")] == [(6 * MS, 4.0, 0)] * 2
    assert script.evaluations() == []
    assert "parameter_hash" in {row["what"] for row in script.of("fingerprints")}


def phases(script: Script) -> list[tuple[int, int, int]]:
    """(forward, set aside, whole) of each step in ms; together phases are never longer than the step."""
    rows = script.of("steps")
    for row in rows:
        parts = ("forward_ns", "backward_ns", "optimizer_ns", "checkpoint_ns")
        assert sum(row[part] or 0 for part in parts) <= row["end_ns"] - row["begin_ns"]
    return [(row["forward_ns"] // MS, (row["checkpoint_ns"] or 0) // MS, (row["end_ns"] - row["begin_ns"]) // MS) for row in rows]


def test_an_evaluation_of_batches_made_by_hand_is_none_of_the_forward_pass() -> None:
    """As nanoGPT does: before the first step and before the third, two batches that take 5 ms to make and 3 ms to look at.

    It was counted as forward time of a step that began after it, whose phases were longer than the step.
    """
    script = Script()
    script.attached.made(script.optimizer)
    for step in range(4):
        for _ in range(2 if step in (0, 2) else 0):
            script.clock.sleep(0.005)
            script.look(training=False)
        script.look(gradients=True)
        script.learn()
    script.look(gradients=True)
    assert script.evaluations() == [11 * MS], "from the first look to the end of the last"
    assert phases(script) == [(3, 0, 6), (3, 0, 11), (3, 11, 17), (3, 0, 6)]


def test_hashing_a_batch_of_an_evaluation_is_set_aside_once() -> None:
    """The first batch of a due step is hashed, be it held out or not: 5 ms between two looks belong to the evaluation alone.

    They were set aside a second time, and the phases of such a step were longer than the step.
    """
    script, loader, held_out = Script(), Loader(), Loader()
    for step in range(3):
        for look in range(2 if step == 1 else 0):
            script.batch(held_out)
            if not look:
                with script.recorder.set_aside_hashing():
                    script.clock.sleep(0.005)
            script.look(training=False)
        script.batch(loader)
        script.look(gradients=True)
        script.learn()
    script.batch(loader)
    assert phases(script) == [(3, 0, 6), (3, 11, 17), (3, 0, 6)]


def test_what_a_teacher_or_a_rollout_takes_is_in_the_step_that_its_forward_time_is_in() -> None:
    """A model in training mode looks three times without gradients before every second update; no loader is asked."""
    script = Script()
    script.attached.made(script.optimizer)
    for step in range(4):
        for _ in range(3 if step % 2 == 0 else 0):
            script.look()
        script.look(gradients=True)
        script.learn()
    script.look(gradients=True)
    assert script.evaluations() == []
    assert phases(script) == [(3, 0, 6), (3, 0, 6), (12, 0, 15), (3, 0, 6)]


def test_a_model_in_evaluation_mode_whose_gradients_are_asked_for_begins_its_step_with_its_pass() -> None:
    """Fine-tuning with frozen statistics, by batches made by hand."""
    script = Script()
    script.attached.made(script.optimizer)
    for _ in range(3):
        script.look(training=False, gradients=True)
        script.learn()
    script.look(training=False, gradients=True)
    assert script.evaluations() == []
    assert phases(script) == [(3, 0, 6)] * 3


@pytest.mark.parametrize("optimizers", [0, 1])
def test_updates_without_an_optimizer_are_not_told_as_one_long_step(optimizers: int) -> None:
    """Parameters changed by hand: nothing says where a step ends. One optimizer that stepped once says it of one."""
    script, loader = Script(), Loader()
    for _ in range(3):
        script.batch(loader)
        script.look(gradients=True)
        script.attached.backward(((script.model.weight * 2).sum(),), False)
        script.attached.backwarded()
    if optimizers:
        script.learn()
    script.attached.close()
    script.recorder.close()
    assert len(script.of("steps")) == optimizers


def test_a_batch_of_the_scripts_own_shape_is_as_much_work_as_it_has_samples() -> None:
    """A collate function whose mapping begins with the names of the files."""
    from fireassay.instruments.hooks.sample_sources import Source

    class Iterator:
        _assay_source = Source(key=(0, 3), has_ids=True, left=2)
        _assay_ids = iter([[2, 0], [1]]).__next__

    script = Script()
    for rows in (["a", "b"], ["c"]):
        script.attached.request()
        script.attached.batch_ready(Iterator, {"names": rows, "x": script.torch.ones(len(rows), 1)})
        script.look(gradients=True)
        script.learn()
    script.attached.close()
    script.recorder.close()
    assert [row["items"] for row in script.of("steps")] == [2.0, 1.0]


def test_two_optimizers_of_one_pass_step_together_from_the_first_step_on() -> None:
    """No loader tells where a step ends. The second one's step was told as the beginning of the next, and the last as one without a
    pass.
    """
    script = Script()
    other = object()
    for optimizer in (script.optimizer, other):
        script.attached.made(optimizer)
    for _ in range(4):
        script.look(gradients=True)
        script.learn()
        script.attached.step(other)
        script.clock.sleep(0.002)
        script.attached.stepped(other)
    script.attached.close()
    script.recorder.close()
    assert phases(script) == [(3, 0, 8)] * 4
    assert [row["optimizer_ns"] for row in script.of("steps")] == [2 * MS] * 4


def test_an_optimizer_that_comes_again_before_the_other_begins_its_own_cycle() -> None:
    """As a critic does that is trained three times for each time of the generator: its updates are steps, and so is the generator's."""
    script = Script()
    script.attached.made(script.optimizer)
    script.attached.made(object())
    for _ in range(4):
        script.look(gradients=True)
        script.learn()
    script.attached.close()
    script.recorder.close()
    assert phases(script) == [(3, 0, 6)] * 4, "that the first was a step is known when the second comes"


@pytest.mark.parametrize(
    ("training", "expected"),
    [(False, [(3, 3, 61), (3, 6, 64), (3, 6, 64), (3, 3, 11)]), (True, [(6, 0, 61), (9, 0, 64), (9, 0, 64), (6, 0, 11)])],
)
def test_a_look_before_the_update_is_in_the_step_that_it_was_in(training: bool, expected: list[tuple[int, int, int]]) -> None:
    """And one after the update in the next. Both, and 50 ms of the script's own work, were one evaluation of 58 ms, even in a step of
    11.
    """
    script = Script()
    script.attached.made(script.optimizer)
    for _ in range(3):
        script.look(gradients=True)
        script.derive()
        script.look(training=training)
        script.clock.sleep(0.050)
        script.update(2)
        script.look(training=training)
    script.look(gradients=True)
    script.derive()
    script.update(2)
    script.close()
    assert phases(script) == expected
    assert script.evaluations() == ([] if training else [3 * MS] * 6)


def test_a_look_inside_of_an_optimizer_s_step_is_forward_time_of_that_step() -> None:
    """As a line search's of LBFGS; the one after the step begins the next step, and was put together with it: 21 ms of phases in 18."""
    script = Script()
    script.attached.made(script.optimizer)
    for _ in range(3):
        script.attached.step(script.optimizer)
        for _ in range(2):
            script.look(gradients=True)
            script.derive()
        script.look(training=False)
        script.attached.stepped(script.optimizer)
        script.look(training=False)
    script.close()
    assert phases(script) == [(9, 0, 15), (9, 3, 18), (9, 3, 18)]


def test_looks_round_the_updates_of_two_optimizers_leave_the_updates_out() -> None:
    script, other = Script(), object()
    script.attached.made(script.optimizer)
    script.attached.made(other)
    for _ in range(3):
        script.look(gradients=True)
        script.derive()
        script.look(training=False)
        script.update(2)
        script.look(training=False)
        script.update(2, other)
        script.look(training=False)
    script.close()
    assert phases(script) == [(3, 6, 16), (3, 9, 19), (3, 9, 19)]


@pytest.mark.parametrize("batches", [1, 2])
def test_a_held_out_batch_between_the_gradients_and_the_update_is_set_aside_in_that_step(batches: int) -> None:
    """From when it was asked for to the last look: it was told of the next step, and the update was a part of it."""
    script, loader, held_out = Script(), Loader(), Loader()
    script.attached.made(script.optimizer)
    for _ in range(3):
        script.batch(loader)
        script.look(gradients=True)
        script.derive()
        for _ in range(batches):
            script.batch(held_out)
            script.look(training=False)
        if batches == 2:  # until it has run out
            script.attached.request()
            script.attached.ran_out(held_out)
        script.update(2)
    script.close()
    assert phases(script) == [(3, 3 * batches, 8 + 3 * batches)] * 3
    assert [row["items"] for row in script.of("steps")] == [4.0] * 3


@pytest.mark.parametrize("evaluated", ["the model", "the module inside of it"])
def test_a_loss_function_that_nobody_switched_to_evaluation_mode_is_part_of_the_evaluation(evaluated: str) -> None:
    """`criterion(model(x), y)` without gradients: the criterion has no parameters, and whether it trains says nothing."""
    script = Script()
    script.attached.made(script.optimizer)
    criterion, inner = script.torch.nn.CrossEntropyLoss(), script.model
    wrapper = script.torch.nn.Module()
    wrapper.module = inner

    def judge(gradients: bool) -> None:
        with script.torch.set_grad_enabled(gradients):
            script.attached.forward(criterion)
            script.clock.sleep(0.001)
            script.attached.forwarded()

    for step in range(4):
        script.model = wrapper if evaluated == "the model" else inner
        for _ in range(3 if step == 2 else 0):
            script.look(training=False)
            judge(gradients=False)
            script.clock.sleep(0.005)
        script.model = wrapper
        script.look(gradients=True)
        judge(gradients=True)
        script.model = inner
        script.learn()
    script.model = wrapper
    script.look(gradients=True)
    script.close()
    assert phases(script) == [(4, 0, 7), (4, 0, 7), (4, 22, 34), (4, 0, 7)]


def test_a_metric_without_parameters_is_no_evaluation_by_itself() -> None:
    """Accuracy of the batch that is trained on, without gradients."""
    script = Script()
    script.attached.made(script.optimizer)
    metric = script.torch.nn.Identity().eval()
    for _ in range(3):
        script.look(gradients=True)
        with script.torch.no_grad():
            script.attached.forward(metric)
            script.clock.sleep(0.001)
            script.attached.forwarded()
        script.learn()
    script.close()
    assert script.evaluations() == []
    assert phases(script) == [(4, 0, 7)] * 3


def test_a_look_between_two_steps_of_an_optimizer_that_asks_for_passes_itself_is_in_the_step_that_ends() -> None:
    """LBFGS on the one batch that a loader gave."""
    script = Script()
    script.attached.made(script.optimizer)
    script.batch(Loader())
    for _ in range(3):
        script.attached.step(script.optimizer)
        script.look(gradients=True)
        script.derive()
        script.attached.stepped(script.optimizer)
        script.look(training=False)
    script.close()
    assert phases(script)[:2] == [(6, 0, 9)] * 2


def test_an_evaluation_of_a_batch_that_was_asked_for_a_step_ago_is_no_longer_than_its_step() -> None:
    """The held-out batch is fetched before the update and looked at after it: the evaluation was told of the step after, update and all."""
    script, loader, held_out = Script(), Loader(), Loader()
    script.attached.made(script.optimizer)
    for _ in range(3):
        script.batch(loader)
        script.look(gradients=True)
        script.derive()
        script.attached.request()
        script.clock.sleep(0.001)
        script.attached.batch_ready(held_out, script.torch.ones(4, 1))
        script.update(2)
        script.look(training=False)
    script.close()
    assert phases(script)[:2] == [(3, 0, 12)] * 2
    assert all((row["data_ns"] or 0) >= 0 for row in script.of("steps"))


def test_an_evaluation_in_the_body_of_a_loop_takes_no_batch_from_the_training() -> None:
    """Before the first and the third of three steps, after the loop has asked for its batch: two batches of 3 ms each.

    The batch that was trained on afterwards was taken for a part of the evaluation: its step had no samples.
    """
    script, loader = Script(), Loader()
    for step in range(3):
        script.batch(loader)
        if step != 1:
            held_out = Loader()
            for _ in range(2):
                script.batch(held_out)
                script.look(training=False)
            script.attached.request()
            script.attached.ran_out(held_out)
        script.look(gradients=True)
        script.learn()
    script.batch(loader)
    assert [(row["items"], row["forward_ns"], row["checkpoint_ns"] or 0) for row in script.of("steps")] == [
        (4.0, 3 * MS, 6 * MS),
        (4.0, 3 * MS, 0),
        (4.0, 3 * MS, 6 * MS),
    ]
    assert script.evaluations() == [6 * MS] * 2


def test_a_batch_that_is_looked_at_before_the_update_and_trained_on_after_it_is_training() -> None:
    """As a loop that looks one batch ahead does; what of the look's time lies in which step is not asked here."""
    script, loader = Script(), Loader()
    script.batch(loader)
    for _ in range(3):
        script.look(gradients=True)
        script.derive()
        script.batch(loader)
        script.look()
        script.update(1)
    script.look(gradients=True)
    script.learn()
    script.batch(loader)
    assert sum(row["items"] or 0.0 for row in script.of("steps")) == 16.0
    assert script.evaluations() == []


def test_a_model_that_lists_its_parameters_is_looked_at_like_any_other() -> None:
    script = Script()
    script.model.parameters = lambda: [script.model.weight]  # type: ignore[method-assign,assignment,return-value]
    script.attached.made(script.optimizer)
    for _ in range(2):
        script.look(gradients=True)
        script.learn()
        script.look(training=False)
    script.look(gradients=True)
    assert script.recorder.active
    assert script.evaluations()
