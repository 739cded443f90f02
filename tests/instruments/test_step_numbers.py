"""Do trackers get the step numbers of the record in a launch, those of the framework's events elsewhere, and never more than is known?

The frameworks are stand-ins with their documented hooks; the real ones are in tests/live/test_callbacks.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments import attach
from fireassay.instruments.callbacks.step_numbers import StepNumbers
from fireassay.instruments.recorder import singleton
from tests.instruments.test_callbacks import RecordData, callback, frameworks, measured

__all__ = ["frameworks", "measured"]  # fixtures

NAMES = ("steps", "step_time_s", "data_wait_s", "exposed_communication_s", "items_per_s_of_this_rank")


def known(values: dict[str, float]) -> dict[str, float]:
    """Without the prefix, which all have."""
    assert all(name.startswith("assay_provisional/") for name in values)
    return {name.removeprefix("assay_provisional/"): value for name, value in values.items()}


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    monkeypatch.delenv("FIREASSAY_LAUNCH_DIR", raising=False)
    clock = FakeClock()
    monkeypatch.setattr("time.monotonic_ns", clock.now_ns)
    return clock


def numbers_of(clock: FakeClock) -> StepNumbers:
    return StepNumbers(clock.now_ns)


def test_outside_of_a_launch_a_step_lasts_from_end_to_end_and_its_wait_is_what_comes_before_the_batch(outside: FakeClock) -> None:
    numbers = numbers_of(outside)
    for wait, work in ((0.5, 9.0), (0.1, 0.2), (0.3, 0.4), (0.2, 0.3)):  # the first has no end before it
        outside.sleep(wait)
        numbers.arrived()
        outside.sleep(work)
        numbers.ended(items=8.0)
    taken = known(numbers.take())
    assert taken == pytest.approx({"steps": 3, "step_time_s": 0.5, "data_wait_s": 0.2, "items_per_s_of_this_rank": 24 / 1.5})
    assert numbers.take() == {}, "each step is logged once"


def test_a_step_with_an_evaluation_or_a_checkpoint_in_it_is_left_out(outside: FakeClock) -> None:
    numbers = numbers_of(outside)
    numbers.ended()
    numbers.paused()
    outside.sleep(60.0)
    numbers.ended()
    outside.sleep(0.25)
    numbers.ended()
    assert known(numbers.take()) == pytest.approx({"steps": 1, "step_time_s": 0.25})


def test_items_that_one_step_does_not_know_make_no_rate(outside: FakeClock) -> None:
    numbers = numbers_of(outside)
    for items in (1.0, 8.0, None):
        numbers.ended(items)
        outside.sleep(1.0)
    assert "items_per_s_of_this_rank" not in known(numbers.take())


def test_in_a_launch_the_numbers_are_those_of_the_record_s_rows(measured: RecordData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singleton, "recorder", lambda: measured.recorder)
    numbers = StepNumbers(measured.clock.now_ns)
    rows = []
    for ms in (5, 40, 20):
        numbers.arrived()
        measured.wait(ms)
        numbers.ended()
        rows.append(measured.stepped())
    taken = known(numbers.take())
    lengths = sorted((row["end_ns"] - row["begin_ns"] - (row["checkpoint_ns"] or 0)) / 1e9 for row in rows)
    assert taken["steps"] == 3
    assert taken["step_time_s"] == pytest.approx(lengths[1])
    assert taken["step_time_s"] == pytest.approx(0.020, rel=0.01)
    assert set(taken) <= set(NAMES)
    assert len(measured.of("steps")) == 3, "the record has them too"


def test_an_error_of_ours_costs_the_numbers_and_not_the_training(
    measured: RecordData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise ValueError("no")

    monkeypatch.setattr(attach, "current", fails)
    assert numbers_of(measured.clock).take() == {}
    assert "the tracker gets no step numbers: ValueError: no" in capsys.readouterr().err


# ---- the frameworks ----------------------------------------------------------------------------------------------------------


class Logger:
    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def log_metrics(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))


def lightning(own: Any, clock: FakeClock, *, batches: int, accumulate: int = 1, zero: bool = True) -> Logger:
    """A training as Lightning reports it: 10 ms of waiting and 30 ms of work a batch."""
    logger = Logger()
    trainer = SimpleNamespace(global_step=0, loggers=[logger], log_every_n_steps=2, is_global_zero=zero)
    own.on_train_start(trainer, None)
    for index in range(batches):
        batch = [[0.0] * 4]
        clock.sleep(0.01)
        own.on_train_batch_start(trainer, None, batch, index)
        clock.sleep(0.03)
        trainer.global_step += (index + 1) % accumulate == 0
        own.on_train_batch_end(trainer, None, None, batch, index)
    own.on_train_end(trainer, None)
    return logger


@pytest.mark.usefixtures("frameworks")
def test_lightning_s_loggers_get_them_every_log_every_n_steps_and_at_the_end(outside: FakeClock) -> None:
    own = callback("lightning")
    own._numbers = numbers_of(outside)
    logger = lightning(own, outside, batches=5)
    assert [(step, known(values)["steps"]) for step, values in logger.logged] == [(2, 1), (4, 2), (5, 1)]
    assert known(logger.logged[1][1])["step_time_s"] == pytest.approx(0.04)
    assert known(logger.logged[1][1])["data_wait_s"] == pytest.approx(0.01)


@pytest.mark.usefixtures("frameworks")
def test_accumulated_batches_are_one_step_and_only_rank_0_logs(outside: FakeClock) -> None:
    own, other = callback("lightning"), callback("lightning")
    own._numbers, other._numbers = numbers_of(outside), numbers_of(outside)
    logger = lightning(own, outside, batches=8, accumulate=2)
    assert [(step, known(values)["step_time_s"]) for step, values in logger.logged] == [(2, pytest.approx(0.08)), (4, pytest.approx(0.08))]
    assert lightning(other, outside, batches=4, zero=False).logged == []


@pytest.mark.usefixtures("frameworks")
def test_the_trainer_s_trackers_come_after_the_callback_and_get_them_with_the_loss(outside: FakeClock) -> None:
    import importlib

    hf = importlib.import_module("fireassay.instruments.callbacks.hf")
    tracker = object()
    trainer = SimpleNamespace(callback_handler=SimpleNamespace(callbacks=[tracker]))
    assert hf.followed(hf.followed(trainer)) is trainer
    own, after = trainer.callback_handler.callbacks
    assert after is tracker
    own._numbers = numbers_of(outside)
    for _ in range(3):
        own.on_step_end(None, None, None)
        outside.sleep(0.5)
    zero, other = SimpleNamespace(is_world_process_zero=True), SimpleNamespace(is_world_process_zero=False)
    evaluated, elsewhere, logged = {"eval_loss": 1.0}, {"loss": 1.0}, {"loss": 1.0}
    for state, logs in ((zero, evaluated), (other, elsewhere), (zero, logged)):
        own.on_log(None, state, None, logs=logs)
    assert (evaluated, elsewhere) == ({"eval_loss": 1.0}, {"loss": 1.0})
    assert logged == {"loss": 1.0, "assay_provisional/steps": 2, "assay_provisional/step_time_s": pytest.approx(0.5)}


def test_accelerate_s_log_has_them_beside_the_user_s_values_which_stay_as_they_are(
    outside: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fireassay.instruments.callbacks import accelerate

    monkeypatch.setattr(accelerate, "StepNumbers", lambda: numbers_of(outside))
    logged: list[tuple[Any, ...]] = []
    own = SimpleNamespace(
        sync_gradients=True,
        save_state=int,
        load_state=int,
        backward=lambda _loss: outside.sleep(0.5),
        log=lambda values, step=None: logged.append((values, step)),
    )
    assert accelerate.measured(own) is own
    own.backward(1.0)
    own.sync_gradients = False
    own.backward(1.0)
    own.sync_gradients = True
    own.backward(1.0)
    values = {"loss": 2.0}
    own.log(values, step=7)
    assert values == {"loss": 2.0}
    assert logged == [({"loss": 2.0, "assay_provisional/steps": 1, "assay_provisional/step_time_s": pytest.approx(1.0)}, 7)]
