"""Does `assay score` score files of answers, say what is wrong with them, and exit as its verdict?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.cli.verbs.score import VERB
from tests.answered import rows
from tests.tiers import some


def write(path: Path, answers: list[str | None]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows(answers)))
    return str(path)


def score(*words: str, root: Path) -> int:
    return cli.main([VERB.name, *words, "--quiet", "--root", str(root / "records")])


@pytest.mark.parametrize(
    ("candidate", "flags", "code", "words"),
    some(
        [
            (["yes"] * 290 + ["no"] * 10, ("--margin", "0.02"), 0, "b: quality held"),
            (["no"] * 60 + ["yes"] * 230 + ["no"] * 10, ("--margin", "0.02"), 1, "b: quality degraded"),
            (["no"] + ["yes"] * 289 + ["no"] * 10, ("--margin", "0.01"), 4, "b: quality undecided"),
            ([None] * 9 + ["yes"] * 291, ("--margin", "0.02"), 3, "9 of 300 items were not answered (9 missing)"),
        ],
        2,
        rows=True,
    ),
)
def test_the_exit_code_is_the_verdict(
    candidate: list[str | None], flags: tuple[str, ...], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write(tmp_path / "a.jsonl", ["yes"] * 290 + ["no"] * 10), write(tmp_path / "b.jsonl", candidate)]
    assert score(*files, "--id", "id", *flags, root=tmp_path) == code
    assert words in capsys.readouterr().out.replace("\n      ", " ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing.jsonl",), "missing.jsonl"),
        (("a.jsonl", "--metric", "exact_matc"), "Did you mean"),
        (("a.jsonl", "--reference", "gold"), "no field 'gold'"),
        (("a.jsonl", "--option", "stem"), "METRIC.NAME=VALUE"),
        (("a.jsonl", "a.jsonl"), "NAME=FILE"),
        (("a.jsonl", "--extract", "nothing"), "--extract"),
        (("a.jsonl", "--metric", "pass_at_1"), "assay evaluate --task humaneval"),
        (("a.jsonl", "--metric", "acc"), "log-likelihood"),
        (("",), "path"),
        (("a.jsonl", "b=a.jsonl", "--margin", "2"), "Exact match goes from 0 to 1"),
        ((".",), "found a folder at"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", ["yes"])
    assert score(*words, root=tmp_path) in (2, 7)
    assert said in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


def test_a_score_that_reads_no_text_is_not_offered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(write(tmp_path / "a.jsonl", ["yes"]), "--metric", "pass_at", root=tmp_path) == 2
    allowed = capsys.readouterr().err.partition("allowed: one of ")[2].partition(".")[0].split(", ")
    assert "rouge_l" in allowed
    assert not {"pass_at_1", "acc", "perplexity"} & set(allowed)


def test_the_flags_make_a_file_that_scores_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", ["yes", "no"])
    assert score("x=a.jsonl", "--metric", "exact_match", "--toml", root=tmp_path) == 0
    (tmp_path / "score.toml").write_text(capsys.readouterr().out)
    assert cli.main(["run", "score.toml", "--quiet", "--root", "records"]) == 0
    assert "Exact match 0.5" in capsys.readouterr().out
