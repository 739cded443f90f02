"""Which numbers of a script's output are the target's score: lines as frameworks and tutorials print them."""

from __future__ import annotations

import json
import logging
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments import found_scores
from fireassay.instruments.found_scores import FoundScores
from fireassay.instruments.recorder import singleton
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> MemorySink:
    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=1, host="here"), sink)
    monkeypatch.setattr(singleton, "recorder", lambda: recorder)
    return sink


def scores(sink: MemorySink) -> list[tuple[int | None, float]]:
    return [(row[7], row[8]) for row in sink.of("events") if row[6] == "score"]


def noted(sink: MemorySink, kind: str) -> list[str]:
    field = {"score_name": "name", "score_unclear": "line"}[kind]
    return [json.loads(row[9])[field] for row in sink.of("events") if row[6] == kind]


@pytest.mark.parametrize(
    ("line", "step", "score"),
    [
        ("accuracy 0.75", None, 0.75),
        ("epoch 3: test accuracy 0.7500", 3, 0.75),
        ("Test set: Average loss: 0.0263, Accuracy: 9912/10000 (99%)", None, 0.9912),  # of torch's MNIST example
        ("Epoch: 10/90 * val_accuracy = 75.0%", 10, 0.75),
        ("{'eval_loss': 0.4, 'eval_accuracy': 0.75, 'epoch': 2.0}", 2, 0.75),  # of transformers' Trainer
        ("step=200 | Accuracy: 7.5e-1 | best accuracy: 0.9", 200, 0.75),
        ("train accuracy 0.99, test accuracy 0.75", None, 0.75),
        ("Accuracy of the network on the 10000 test images: 75 %", None, 0.75),  # of torch's tutorial
        ("accuracy is nan", None, float("nan")),
        ("accuracy of 1", None, 1.0),
        ("ACCURACY:.5", None, 0.5),
        ("Test accuracy: 0.75.", None, 0.75),
        ("\x1b[32maccuracy: \x1b[1m0.75\x1b[0m", None, 0.75),  # coloured, as by rich
        ("accuracy (val): 0.75", None, 0.75),
        ("accuracy score: 0.75", None, 0.75),
        ("accuracy 75 out of 100", None, 0.75),
        ("train_loss: 0.3, val_loss: 0.4, accuracy: 0.75", None, 0.75),
        ("top-5 accuracy: 0.95, top-1 accuracy: 0.75", None, 0.75),
    ],
)
def test_a_line_gives_the_score_and_its_step(sink: MemorySink, line: str, step: int | None, score: float) -> None:
    FoundScores("accuracy").text(line, "printed")
    ((found_step, found),) = scores(sink)
    assert found_step == step
    assert found == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "training accuracy 0.99",
        "best accuracy so far: 0.9",
        "target accuracy 0.8 not reached",
        "inaccuracy 0.3",
        "accuracy_top 0.3",
        "accuracy",
        "accuracy: pending",
        "topk_accuracy5 0.9",
        "top-5 accuracy: 0.95",
        "Top 5 accuracy: 0.95",
        "smoothed accuracy 0.9",
        "",
    ],
)
def test_other_numbers_and_words_are_no_score(sink: MemorySink, line: str) -> None:
    FoundScores("accuracy").text(line, "printed")
    assert scores(sink) == []


def test_a_line_with_two_values_is_not_read_and_is_kept_to_be_shown(sink: MemorySink) -> None:
    FoundScores("accuracy").text("val accuracy 0.7 test accuracy 0.8", "printed")
    assert scores(sink) == []
    assert noted(sink, "score_unclear") == ["val accuracy 0.7 test accuracy 0.8"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("loss", "Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.319"),  # of torch's MNIST example: the loss of a training batch
        ("accuracy", "[train] loss=0.3 accuracy=0.9"),
        ("accuracy", "Train loss 0.3, accuracy 0.9"),
        ("acc@1", "Epoch: [0][10/5005] Acc@1 75.20 (74.88)"),  # of torch's ImageNet example: a batch, and the mean so far
        ("accuracy", "train/val accuracy: 0.9/0.8"),
        ("accuracy", "accuracy: 12/0"),
        ("accuracy", "accuracy: 0,75"),
        ("ppl", "ppl 12,345.6"),
        ("accuracy", "accuracy: tensor(0.75)"),
    ],
)
def test_a_number_of_training_of_a_batch_or_in_another_notation_is_not_read_but_kept_to_be_shown(
    sink: MemorySink, name: str, line: str
) -> None:
    FoundScores(name).text(line, "printed")
    assert scores(sink) == []
    assert noted(sink, "score_unclear") == [line]


@pytest.mark.parametrize("name", ["eval_accuracy", "accuracy"])
def test_a_line_of_mlperfs_logger_is_read_by_its_key(sink: MemorySink, name: str) -> None:
    found = FoundScores(name)
    for key, value in (("eval_accuracy", 0.34), ("target_accuracy", 0.9), ("train_samples", 5), ("eval_accuracy", None)):
        row = {"time_ms": 1700000000000, "key": key, "value": value, "metadata": {"epoch_num": 2, "note": "eval_accuracy 0.1"}}
        found.text(f"0: :::MLLOG {json.dumps(row)}", "logging")
    assert scores(sink) == [(None, 0.34)]


def test_a_name_with_its_own_word_for_the_data_is_read_behind_the_other(sink: MemorySink) -> None:
    FoundScores("val/acc").text("train acc 0.9, val/acc 0.75", "printed")
    FoundScores("train acc").text("train acc 0.9, val/acc 0.75", "printed")
    assert scores(sink) == [(None, 0.75), (None, 0.9)]


def test_the_whole_name_settles_it(sink: MemorySink) -> None:
    FoundScores("test accuracy").text("val accuracy 0.7 test accuracy 0.8", "printed")
    assert scores(sink) == [(None, 0.8)]


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("accuracy", True),
        ("eval/accuracy", True),
        ("Accuracy/val", True),
        ("train/accuracy", False),
        ("Accuracy/train", False),
        ("train/epoch/accuracy", False),
        ("train/eval/accuracy", True),
        ("accuracy_top5", False),
        ("loss", False),
    ],
)
def test_a_logged_name_fits_if_it_is_of_held_out_data(tag: str, fits: bool) -> None:
    assert FoundScores("accuracy").fits(tag) == fits


def test_other_logged_names_are_noted_once_so_that_a_misspelt_target_can_be_answered(sink: MemorySink) -> None:
    found = FoundScores("acuracy")
    for _ in range(3):
        found.scalar("eval/accuracy", 0.7, 1, "tensorboard")
    assert noted(sink, "score_name") == ["eval/accuracy"]


def test_print_and_logging_are_read_and_still_print_and_log(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("builtins.print", print)  # restored after the test
    monkeypatch.setattr(logging.Logger, "handle", logging.Logger.handle)
    found_scores.arm({found_scores.VARIABLE: "accuracy\nloss"})
    print("accuracy", 0.5)
    print({"accuracy": 0.6})
    print("nothing of interest", object())
    with caplog.at_level("INFO"):
        logging.getLogger("train").info("step %d accuracy %.2f", 7, 0.75)
        logging.getLogger("train").info("test loss %.2f", 0.25)
    assert scores(sink) == [(None, 0.5), (None, 0.6), (7, 0.75), (None, 0.25)]
    assert capsys.readouterr().out.splitlines()[0] == "accuracy 0.5"
    assert caplog.messages == ["step 7 accuracy 0.75", "test loss 0.25"]


def test_without_a_target_nothing_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    before: Any = print
    found_scores.arm({})
    assert before is print


def test_an_error_while_reading_never_reaches_the_script(sink: MemorySink) -> None:
    found = FoundScores("accuracy")

    def broken() -> None:
        raise RuntimeError("boom")

    found.guarded(broken)
    assert noted(sink, "score_unclear") == ["RuntimeError: boom"]


@given(st.text(max_size=300), st.text(min_size=1, max_size=30))
def test_any_text_and_any_name_are_read_without_an_error(text: str, name: str) -> None:
    found = FoundScores(name)
    found._report = lambda *_: None  # type: ignore[method-assign]
    found._unclear = lambda *_: None  # type: ignore[method-assign]
    found.text(f"{text} {name} 0.5 {text}", "printed")
    found.fits(text)


def test_printed_words_like_a_misspelt_target_are_noted_in_the_first_lines(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.print", print)  # restored after the test
    found_scores._prints(FoundScores("val_acuracy"))
    for epoch in range(2):
        print(f"epoch {epoch}: val accuracy 0.75, seen in a factory")
    for _ in range(found_scores.MAX_UNLIKE):
        print("nothing")
    print("val acuracies 0.75")
    assert noted(sink, "score_name") == ["accuracy"]
    assert capsys.readouterr().out.startswith("epoch 0: val accuracy 0.75")


def sources(sink: MemorySink) -> list[tuple[str, float]]:
    return [(json.loads(row[9])["source"], row[8]) for row in sink.of("events") if row[6] == "score"]


def test_a_name_of_held_out_data_is_told_apart_from_the_bare_one(sink: MemorySink) -> None:
    """Many scripts log the training loss of a step as "loss" and that of an evaluation as "val/loss"."""
    found = FoundScores("loss")
    found.scalar("loss", 0.2, 1, "wandb")
    found.scalar("val/loss", 0.4, 1, "wandb")
    found.text("step 1 loss: 0.2", "printed")
    found.text("val loss: 0.4", "printed")
    found.text("loss (test): 0.4", "printed")
    assert sources(sink) == [
        ("wandb", 0.2),
        ("wandb, held out", 0.4),
        ("printed", 0.2),
        ("printed, held out", 0.4),
        ("printed, held out", 0.4),
    ]


class Logger:
    """A logger, or a trainer, as the hooks see it."""

    def __init__(self) -> None:
        self.state = None

    def log(self, logs: Any, step: Any = None) -> None: ...

    def add_scalar(self, tag: Any, scalar_value: Any, global_step: Any = None) -> None: ...

    def add_scalars(self, main_tag: Any, tag_scalar_dict: Any, global_step: Any = None) -> None: ...


def hooked(hook: Any, name: str, target: str) -> Logger:
    """An instance of a class of this name in a module that the hook was given."""
    kind: Any = type(name, (Logger,), {method: getattr(Logger, method) for method in ("log", "add_scalar", "add_scalars")})
    hook(FoundScores(target), types.SimpleNamespace(**{name: kind}))
    return kind()  # type: ignore[no-any-return]


def test_the_loss_of_transformers_trainer_is_that_of_training_and_eval_loss_is_not(sink: MemorySink) -> None:
    trainer = hooked(found_scores._trainer, "Trainer", "loss")
    trainer.log({"loss": 0.2, "grad_norm": 1.0})
    trainer.log({"eval_loss": 0.4})
    trainer.log({"train_loss": 0.3})
    assert sources(sink) == [("trainer, held out", 0.4)]


def test_tables_in_what_is_logged_to_wandb_are_read_with_their_names(sink: MemorySink) -> None:
    hooked(found_scores._wandb, "Run", "accuracy").log({"train": {"accuracy": 0.9}, "val": {"accuracy": 0.7, "by_class": {"a": "x"}}}, 3)
    assert sources(sink) == [("wandb, held out", 0.7)]


def test_the_scalars_of_one_chart_of_tensorboard_are_read_with_its_name(sink: MemorySink) -> None:
    hooked(found_scores._tensorboard, "SummaryWriter", "accuracy").add_scalars("accuracy", {"train": 0.9, "val": 0.7}, 3)
    assert sources(sink) == [("tensorboard, held out", 0.7)]
