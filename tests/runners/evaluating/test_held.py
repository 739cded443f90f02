"""Are the ratings of GenAI-Bench judged without an engine, by side and by skill, as they are known by hand?"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.api.measuring import evaluated, texts_of
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import from_record
from fireassay.instruments.reference_server.media import drawn
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.record.reader import open_record
from fireassay.runners.evaluating import pictures
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.verdict.judge import judge
from tests.quality.tasks import genai_made as made
from tests.runners.evaluating import colour_model


def held(folder: Path, **flags: object) -> Experiment:
    texts = texts_of("evaluate", {"task": "genai_bench", "data": str(folder), **flags})
    return evaluated(argparse.Namespace(targets=[], **texts))


def mean(model: int, prompts: list[int]) -> float:
    return sum(made.rating(prompt, model, rater) for prompt in prompts for rater in range(3)) / (3 * len(prompts))


@pytest.mark.slow
def test_every_model_has_the_means_that_are_known(tmp_path: Path) -> None:
    """1,600 prompts: 3 on the whole, 2.8 where a 5 is a 4; of each skill that of its prompts."""
    experiment = held(made.as_json(tmp_path / "data"), margin="0.5")
    measured = from_record(open_record(run(experiment, folder=tmp_path, root=tmp_path / "records")))
    judgement = judge(measured)
    values = judgement.results["human_rating"]
    assert list(values) == [f"answers={name}" for name in made.MODELS]
    for model, value in enumerate(values.values()):
        assert isinstance(value, Estimate)
        assert value.value == pytest.approx(3.0 if model < 3 else 2.8)
        assert value.n_trials == made.PROMPTS
    assert judgement.verdict.status == "PASS"
    groups = {row.label: row for row in rows(measured, {name: name for name in measured.configurations}).groups}
    for index, name in enumerate((*made.BASIC, *made.ADVANCED)):
        prompts = list(range(index + 2, made.PROMPTS + 1, index + 2))
        assert groups[name].items == len(prompts)
        for model, value in enumerate(groups[name].values.values()):
            assert isinstance(value, Estimate)
            assert value.value == pytest.approx(mean(model, prompts)), name


@pytest.mark.slow
def test_a_worse_model_is_degraded_by_more_than_the_margin(tmp_path: Path) -> None:
    experiment = held(made.as_json(tmp_path / "data"), margin="0.1")
    record = run(experiment, folder=tmp_path, root=tmp_path / "records")
    assert judge(from_record(open_record(record))).verdict.status == "FAIL"


@pytest.mark.slow
def test_the_images_of_a_copy_are_scored_beside_their_ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.models, "load", colour_model.load)
    folder = tmp_path / "data"
    folder.mkdir()
    whole = {str(number): {"prompt": "a square in red", "models": {"A": [5, 5, 4], "B": [1, 2, 3]}} for number in range(40)}
    (folder / "genai_image.json").write_text(json.dumps(whole))
    for model, colour in (("A", "red"), ("B", "blue")):
        (folder / model).mkdir()
        for number in range(40):
            (folder / model / f"{number}.png").write_bytes(drawn(f"a square in {colour}", 32, 32, number))
    experiment = held(folder, metric="clipscore", option=["clipscore.model=colours"], margin="0.1")
    record = run(experiment, folder=tmp_path, root=tmp_path / "records")
    judgement = judge(from_record(open_record(record)))
    clip, people = (judgement.results[name] for name in ("clipscore", "human_rating"))
    assert getattr(clip["answers=A"], "value", 0.0) > getattr(clip["answers=B"], "value", 9.0)
    assert getattr(people["answers=A"], "value", 0.0) == pytest.approx(14 / 3)
    assert judgement.verdict.status == "FAIL"


def test_the_command_is_short_and_engines_stay_out_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.as_json(tmp_path / "data", 30)
    words = ["evaluate", "--task", "genai_bench", "--data", str(folder)]
    assert cli.main([*words, "--toml"]) == 0
    assert "[serving" not in capsys.readouterr().out
    assert cli.main([*words, "--model", "M", "--limit", "3"]) == 2
    complaint = capsys.readouterr().err
    assert "--model" in complaint
    assert "--limit" in complaint
    assert "nothing is sent" in complaint


def test_without_ratings_an_engine_is_needed(tmp_path: Path) -> None:
    (tmp_path / "genai_image.json").write_text('{"1": {"prompt": "a cat"}}')
    with pytest.raises(SpecError, match="--target"):
        held(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(SpecError, match="no such file|no folder"):
        held(tmp_path)


def test_other_layouts_need_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "--task", "gsm8k", "--data", str(tmp_path)]) == 2
    assert "--target" in capsys.readouterr().err
