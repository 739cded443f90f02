"""Do `fireassay.score` and `evaluate` the same as the verbs, without printing and without exiting?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

import fireassay
from fireassay.api import experiment_run
from fireassay.api.measuring import evaluated
from fireassay.errors import SpecError
from fireassay.spec.flags import evaluate
from tests.answered import rows
from tests.api.conftest import GOOD


def write(path: Path, answers: list[str]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows(answers)))
    return path


def test_scores_return_their_record_and_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path / f"{name}.jsonl", ["yes"] * 380 + ["no"] * 20) for name in ("a", "b")]
    record = fireassay.score(*files, id="id", margin=0.02, root=tmp_path / "records")
    assert (record.state, record.sealed, record.judge().status) == ("complete", True, "PASS")
    value = record.metric("exact_match", configuration="answers=b")
    assert isinstance(value, fireassay.Estimate)
    assert value.value == pytest.approx(0.95)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verb", ["score", "evaluate"])
def test_the_arguments_are_the_flags_of_the_verb(verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = ["--metric", "f1,exact_match", "--margin", "0.02", "--option", "f1.lower=true", "--own-references"]
    options: dict[str, Any] = {"metric": ["f1", "exact_match"], "margin": 0.02, "option": ["f1.lower=true"], "own_references": True}
    parser, ran = argparse.ArgumentParser(), list[Any]()
    monkeypatch.setattr(experiment_run, "run", lambda experiment, **_: ran.append(experiment) or GOOD)
    monkeypatch.setattr("fireassay.api.measuring.planned", lambda *_, **__: None)
    if verb == "score":
        evaluate.add_score_flags(parser)
        expected = evaluate.score_experiment(parser.parse_args(["x=a.jsonl", "b.jsonl", "--reference", "gold", *shared]))
        made = fireassay.score("x=a.jsonl", "b.jsonl", reference="gold", root=tmp_path, **options)
    else:
        evaluate.add_flags(parser)
        own = ["--target", "http://a:1", "--task", "own.toml", "--model", "M", "-k", "1,2", "--repetitions", "2"]
        expected = evaluated(parser.parse_args([*own, *shared]))
        made = fireassay.evaluate("http://a:1", task="own.toml", model="M", k=[1, 2], repetitions=2, root=tmp_path, **options)
    assert (ran, made.path) == ([expected], GOOD)


def test_every_wrong_argument_is_named_before_anything_is_done() -> None:
    with pytest.raises(SpecError) as caught:
        fireassay.score(metrc="f1")
    assert [(problem.where, problem.fix) for problem in caught.value.problems] == [("metrc", "Did you mean metric?"), ("files", "")]
    with pytest.raises(SpecError, match="targets: found nothing"):
        fireassay.evaluate(task="gsm8k")
    with pytest.raises(SpecError, match="--margin: found wide"):
        fireassay.score("a.jsonl", margin="wide")


def test_a_margin_that_the_items_cannot_show_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{"question": "2 + 2?", "choices": ["4", "5"], "answer": "A"}] * 20
    (tmp_path / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    monkeypatch.setattr(experiment_run, "run", lambda *_, **__: pytest.fail("it was sent"))
    with pytest.raises(SpecError, match="a margin of 0.01 needs about"):
        fireassay.evaluate(
            "a=http://localhost:1", "b=http://localhost:2", task="choices", data=str(tmp_path / "items.jsonl"), model="M", margin=0.01
        )
