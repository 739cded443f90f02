"""Does `assay score --score-field` judge scores of another program as any other, and refuse what cannot be with the command that is meant?"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fireassay
from fireassay import cli
from fireassay.errors import SpecError
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record

SKILLS = ("counting", "spatial", "negation")
GIVEN = ("--score-field", "vqascore", "--id", "prompt")


def images(path: Path, *, prompts: int = 240, lost: float = 0.0, candidates: int = 1, models: tuple[str, ...] = ("SD 2.1", "SDXL")) -> Path:
    """A file in the public layout: a line for each image, the last model `lost` worse."""
    rng = np.random.default_rng(5)
    with path.open("w") as file:
        for prompt in range(prompts):
            for model in models:
                for image in range(candidates):
                    score = (
                        0.7 + 0.1 * rng.standard_normal() * (candidates > 1) - lost * (model == models[-1]) + 0.01 * rng.standard_normal()
                    )
                    row = {"prompt": f"scene {prompt}", "model": model, "image": f"{model}/{prompt}-{image}.png"}
                    row |= {"vqascore": round(float(np.clip(score, 0, 1)), 6), "skill": [SKILLS[prompt % 3], SKILLS[(prompt + 1) % 3]]}
                    file.write(f"{json.dumps(row | {'gen_s': 2.0, 'usd': 0.01, 'rating': 3 + prompt % 2})}\n")
    return path


@pytest.fixture
def assay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = cli.main([*words, "--root", "records"])
        out, err = capsys.readouterr()
        return code, out, err

    return run


Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(("lost", "code", "words"), [(0.0, 0, "SDXL: quality held"), (0.1, 1, "SDXL: quality degraded")])
def test_models_of_one_file_are_compared_prompt_by_prompt(lost: float, code: int, words: str, tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", lost=lost)
    found, out, _ = assay(
        "score", "images.jsonl", *GIVEN, "--side", "model", "--group", "skill", "--margin", "0.02", "--score-scale", "0,1", "--quiet"
    )
    assert (found, words in out) == (code, True)
    assert "over 240 items" in " ".join(out.split())
    assert "of 3 subgroups 3 " in " ".join(out.split())


def test_without_a_scale_the_first_screen_says_so_and_nothing_is_in_points(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl")
    code, out, _ = assay("score", "images.jsonl", *GIVEN, "--side", "model", "--quiet")
    said = " ".join(out.split())
    assert code == 0
    assert "none declared for vqascore: no bound relies on one" in said
    assert "points" not in said


def test_the_reference_side_is_the_one_that_is_named(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", lost=0.1)
    flags = (*GIVEN, "--side", "model", "--score-scale", "0,1", "--margin", "0.02", "--quiet")
    code, out, _ = assay("score", "images.jsonl", *flags, "--reference-side", "SDXL")
    assert code == 0
    assert "SD-2.1: quality held" in out


def test_clusters_that_are_sides_are_answered_with_a_command_that_works(tmp_path: Path, assay: Run) -> None:
    """The models were asked the same prompts, so they are sides."""
    images(tmp_path / "images.jsonl")
    scale = ("--score-scale", "0,1")
    code, _, err = assay("score", "images.jsonl", *GIVEN, *scale, "--cluster", "model", "--group", "skill", "--margin", "0.02")
    assert code == 2
    _, found, command = " ".join(err.split()).partition("assay score ")
    assert found
    assert "--side model" in command
    again, out, _ = assay("score", *shlex.split(command), "--quiet")
    assert (again, "quality held" in out) == (0, True)


def test_a_missing_score_is_no_loss_and_is_counted(tmp_path: Path, assay: Run) -> None:
    path = images(tmp_path / "images.jsonl", prompts=200)
    lines = path.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "vqascore": "n/a"})
    path.write_text("\n".join(lines))
    code, out, _ = assay("score", "images.jsonl", *GIVEN, "--side", "model", "--score-scale", "0,1", "--margin", "0.05", "--quiet")
    assert code == 0
    assert "1 of 200 items were not answered (1 missing)" in " ".join(out.split())


def test_texts_and_paths_stay_in_the_record(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", prompts=5)
    assert assay("score", "images.jsonl", *GIVEN, "--side", "model", "--answer", "image", "--quiet")[0] == 0
    (record,) = (tmp_path / "records").iterdir()
    answers = from_record(open_record(record)).table("answers").sort("launch", "item")
    assert answers["prompt"][0] == "scene 0"
    assert sorted(answers["text"])[:2] == ["SD 2.1/0-0.png", "SD 2.1/1-0.png"]
    assert answers["references"].unique().to_list() == ["[]"]


def test_several_fields_are_several_scores_and_the_first_decides(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl")
    words = ("--score-field", "vqascore,rating", "--id", "prompt", "--side", "model", "--json", "--quiet")
    found = json.loads(assay("score", "images.jsonl", *words)[1])
    scores = {row["metric"]: row for row in found["metrics"] if row["metric"] in ("vqascore", "rating")}
    assert scores["rating"]["value"] == pytest.approx(3.5)
    assert "vqascore" in found["verdict"]["sentence"]


def test_lower_is_better_turns_the_loss_around(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", lost=0.1)
    flags = (*GIVEN, "--side", "model", "--score-scale", "0,1", "--margin", "0.02", "--lower-is-better", "vqascore", "--quiet")
    assert assay("score", "images.jsonl", *flags)[0] == 0


def test_the_best_of_nine_is_one_sentence(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", candidates=9, models=("SDXL",))
    flags = (*GIVEN, "--best-of", "9", "--score-scale", "0,1", "--margin", "0.05", "--seconds-field", "gen_s", "--cost-field", "usd")
    code, out, _ = assay("score", "images.jsonl", *flags, "--quiet")
    said = " ".join(out.split())
    assert code == 0
    assert "best of 9: " in said
    assert " for 9 x the cost; the knee is at " in said


def test_the_flags_make_a_file_that_scores_the_same(tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", candidates=2)
    words = ("images.jsonl", *GIVEN, "--side", "model", "--best-of", "2", "--score-scale", "0,1", "--group", "skill", "--cost-field", "usd")
    code, toml, _ = assay("score", *words, "--toml")
    (tmp_path / "score.toml").write_text(toml)
    assert code == 0
    assert assay("run", "score.toml", "--quiet")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--score-field", "vqascor"), "Did you mean vqascore?"),
        (("--score-field", "prompt"), "line 1: found"),
        (("--score-field", "rating", "--score-scale", "0,1"), "allowed: a score from 0 to 1"),
        (("--score-field", "vqascore", "--score-scale", "clip=0,1"), "--score-scale"),
        (("--score-field", "vqascore", "--score-scale", "1,0"), "LOW,HIGH"),
        (("--score-field", "vqascore", "--lower-is-better", "x"), "--lower-is-better"),
        (("--score-field", "vqascore,vqascore"), "vqascore twice"),
        (("--score-field", "vqascore", "--side", "model"), "--id"),
        (("--score-field", "vqascore", "--id", "prompt", "--side", "modl"), "Did you mean model?"),
        (("--score-field", "vqascore", "--id", "prompt", "--side", "gen_s"), "1 values of 'gen_s'"),
        (("--score-field", "vqascore", "--id", "prompt", "--side", "model", "--reference-side", "SD"), "one of SD 2.1, SDXL"),
        (("--score-field", "vqascore", "--reference-side", "SD"), "only with --side"),
        (("images.jsonl", "--score-field", "vqascore", "--id", "prompt", "--side", "model"), "one file"),
        (("--score-field", "vqascore", "--best-of", "9"), "--id"),
        (("--score-field", "vqascore", "--id", "image", "--best-of", "1"), "from 2 to 1000"),
        (("--score-field", "vqascore", "--id", "image", "--best-of", "2000000000"), "from 2 to 1000"),
        (("--score-field", "vqascore", "--id", "image", "--seconds-field", "gen_s"), "--best-of"),
        (("--score-field", "vqascore", "--majority"), "--majority"),
        (("--score-field", "vqascore", "--margin", "2", "--score-scale", "0,1"), "vqascore goes from 0 to 1"),
        (("--score-field", "cost"), "Rename the column."),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(words: tuple[str, ...], said: str, tmp_path: Path, assay: Run) -> None:
    images(tmp_path / "images.jsonl", prompts=2)
    code, _, err = assay("score", "images.jsonl", *words, "--quiet")
    assert (code, said in " ".join(err.split())) == (2, True)
    assert not (tmp_path / "records").exists()


def test_hostile_values_stop_nothing(tmp_path: Path, assay: Run) -> None:
    """Long and steering prompts, labels and sides are shown as text; one item alone has no interval."""
    rows: list[dict[str, Any]] = [
        {"id": f"\x1b[2J{'x' * 5000}{index}", "m": side, "v": index / 7, "g": ["\u202eabc", "<script>", "a|b"]}
        for index in range(6)
        for side in ("../../etc", "../etc")
    ]
    (tmp_path / "h.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    code, out, _ = assay("score", "h.jsonl", "--score-field", "v", "--id", "id", "--side", "m", "--group", "g", "--quiet")
    assert code == 0
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
    (tmp_path / "one.jsonl").write_text('{"id": 1, "v": 0.5}\n')
    assert assay("score", "one.jsonl", "--score-field", "v", "--quiet")[0] == 4


def test_python_takes_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images(tmp_path / "images.jsonl", candidates=2)
    flags: dict[str, Any] = {"score_field": ["vqascore"], "id": "prompt", "side": "model", "reference_side": "SDXL", "best_of": 2}
    record = fireassay.score("images.jsonl", **flags)
    assert str(record.judge()).startswith("MEASURED")
    with pytest.raises(SpecError, match="one of SD 2.1, SDXL"):
        fireassay.score("images.jsonl", **{**flags, "reference_side": "x"})


def test_an_engine_is_asked_as_often_as_there_are_candidates(assay: Run) -> None:
    code, toml, _ = assay("evaluate", "--task", "own.toml", "--target", "http://a:1", "--best-of", "4", "--toml")
    assert code == 0
    asked = tomllib.loads(toml)
    assert (asked["launches"]["per_configuration"], asked["serving"]["temperature"]) == (4, 0.8)
    assert asked["evaluation"]["best_of"]["candidates"] == 4
