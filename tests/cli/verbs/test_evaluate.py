"""Do the flags of `assay evaluate` make the experiment that they say, and is a wrong one refused before anything is sent?"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.cli.verbs.evaluate import VERB
from fireassay.spec.load import from_mapping


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
