"""Do the flags of `assay evaluate` make the experiment that they say, and is a wrong one refused before anything is sent?"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.cli.verbs.evaluate import VERB
from fireassay.runners.evaluating import likelihood
from fireassay.spec.load import from_mapping
from tests.oracle import oracle


def toml(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert cli.main([VERB.name, *words, "--toml"]) == 0
    return tomllib.loads(capsys.readouterr().out)


def test_flags_become_a_load_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "--task",
        "own.toml",
        "--target",
        "a=http://a:1",
        "--target",
        "b=/models/b",
        "--model",
        "M",
        "--margin",
        "0.02",
        "--price",
        "2",
    )
    experiment = from_mapping(toml(capsys, *words, "--task-option", "shots=5", "--repetitions", "3"))
    serving, evaluation = experiment.serving, experiment.evaluation
    assert serving is not None
    assert evaluation is not None
    assert [(target.name, target.backend, target.urls, target.model) for target in serving.targets] == [
        ("a", "openai", ("http://a:1",), ""),
        ("b", "process", (), "/models/b"),
    ]
    assert (serving.ignore_eos, serving.arrivals.warm_up_s, serving.arrivals.cold, serving.prompts.cache) == (False, 0.0, 0, "as_is")
    assert (evaluation.task, dict(evaluation.task_options)) == ("own.toml", {"shots": 5})
    assert experiment.launches.per_configuration == 3
    assert experiment.quality is not None
    assert experiment.quality.margin == 0.02


def test_folders_are_called_by_their_names_and_engines_have_models_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--target", "old/small-7b", "--target", "new/small-7b", "--target", "http://a:1", "--target", "x=http://b:1")
    experiment = from_mapping(toml(capsys, "--task", "own.toml", *named, "--model", "c=M/1,x=N"))
    assert experiment.serving is not None
    found = [(target.name, target.model) for target in experiment.serving.targets]
    assert found == [("small-7b", "old/small-7b"), ("small-7b-2", "new/small-7b"), ("c", "M/1"), ("x", "N")]
    assert experiment.serving.model == ""


def test_every_engine_that_cannot_be_reached_or_refuses_is_named_before_an_item_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"prompt": "1 + 1", "reference": "2"}\n' * 1 + '{"prompt": "1 + 2", "reference": "3"}\n')
    words = [VERB.name, "--task", "jsonl", "--data", "items.jsonl", "--quiet"]
    monkeypatch.setattr(likelihood, "sent", lambda *_: likelihood._reply(404, b'{"error": "no such model"}'))
    with oracle(lambda _: "2") as engine:
        assert cli.main([*words, "--target", f"a={engine.url}", "--target", f"b={engine.url}", "--model", "a=M,b=N"]) == 7
        said = capsys.readouterr().err
        assert engine.bodies == []
    assert f'the engine a at {engine.url} refuses a request for the model M: HTTP 404, {{"error": "no such model"}}' in said
    assert "the engine b" in said
    assert cli.main([*words, "--target", "a=http://127.0.0.1:9", "--target", "b=http://127.0.0.1:9"]) == 7
    said = capsys.readouterr().err
    assert "a: no server at" in said
    assert "b: no server at" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "http://a:1"), "--task"),
        (("--target", "http://a:1", "--task", "nonesuch", "--data", "x"), "--task"),
        (("--target", "http://a:1", "--task", "own.toml", "--repetitions", "0"), "--repetitions"),
        (("--target", "a=http://a:1", "--target", "a=http://b:1", "--task", "own.toml"), "unique name"),
    ],
)
def test_a_wrong_flag_is_named(words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([VERB.name, *words, "--root", str(tmp_path / "records")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("127.0.0.1:8000", "Did you mean http://127.0.0.1:8000?"),
        ("nowhere", '"nowhere", which does not exist'),
        ("items.jsonl", '"items.jsonl", a file'),
        (".", '".", a folder without config.json'),
    ],
)
def test_a_target_that_is_neither_an_address_nor_a_model_is_refused_before_anything_starts(
    target: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"prompt": "1+1=", "reference": "2"}')
    assert cli.main([VERB.name, "--task", "jsonl", "--data", "items.jsonl", "--target", target]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


def test_a_limit_asks_a_sample_and_the_plan_says_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"prompt": "1+1=", "reference": "2"}\n' * 20)
    words = [VERB.name, "--task", "jsonl", "--data", "items.jsonl", "--target", "http://localhost:1", "--dry-run", "--limit", "5"]
    assert cli.main(words) == 0
    assert "items: 5 of 20 by SHA-256 of id, seed 0" in capsys.readouterr().err
    assert cli.main([*words, "--first"]) == 0
    assert "items: the first 5 of 20" in capsys.readouterr().err
    assert cli.main([*words, "--task-option", "max_tokens=0"]) == 2
    assert "a whole number from 1" in capsys.readouterr().err


@pytest.mark.parametrize(("metric", "said"), [("bleu", "since BLEU is no mean over items"), ("rouge_l", "needs about ")])
def test_the_plan_knows_which_scores_are_means(
    metric: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"prompt": "1+1=", "reference": "2"}\n' * 200)
    sides = [word for port in (1, 2) for word in ("--target", f"s{port}=http://localhost:{port}")]
    words = [VERB.name, "--task", "jsonl", "--data", "items.jsonl", *sides, "--metric", metric, "--margin", "0.1", "--dry-run"]
    assert cli.main(words) == 0
    assert said in capsys.readouterr().err


def test_a_dry_run_too_wants_a_folder_with_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text('{"prompt": "1+1=", "reference": "2"}\n')
    (tmp_path / "empty").mkdir()
    assert cli.main([VERB.name, "--task", "jsonl", "--data", "items.jsonl", "--target", "empty", "--dry-run"]) == 2
    assert "a folder without config.json" in capsys.readouterr().err


def test_steps_ask_for_as_many_samples_as_the_largest_number(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--task", "own.toml", "--target", "http://a:1", "--model", "M", "--steps", "1,3,5")
    experiment = from_mapping(toml(capsys, *words))
    assert experiment.serving is not None
    assert (experiment.launches.per_configuration, experiment.serving.temperature) == (5, 0.8)
    turns = from_mapping(toml(capsys, *words, "--step-is", "turns", "--step-prompt", "Sure?"))
    assert turns.serving is not None
    assert turns.evaluation is not None
    assert (turns.launches.per_configuration, turns.serving.temperature, turns.evaluation.steps.again) == (1, 0.0, "Sure?")


@pytest.mark.parametrize(
    ("extractor", "code", "words"),
    [
        ("whole", 2, "whose answer is the whole text: two samples hardly ever agree"),
        ("last_number", 7, ""),  # nothing listens there
    ],
)
def test_a_vote_needs_an_extractor(
    extractor: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(
        f'name = "own"\ndata = "own.jsonl"\ntemplate = "{{q}}"\nmetrics = ["exact_match"]\nextractor = "{extractor}"\n'
        '[fields]\nreference = "a"\n'
    )
    Path("own.jsonl").write_text('{"q": "1 + 1?", "a": "2"}\n{"q": "1 + 2?", "a": "3"}\n')
    asked = [VERB.name, "--task", "own.toml", "--target", "http://127.0.0.1:9", "--model", "M", "--steps", "1,3"]
    assert cli.main(asked) == code
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert cli.main([*asked, "--dry-run"]) == (2 if words else 0)
    assert ("--extract last_number" in said) == bool(words)
