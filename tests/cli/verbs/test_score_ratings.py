"""Does `assay score --ratings` judge what people said, and say what is wrong with it before anything is written?"""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.spec.load import load

LONG = "item,side,rater,rating\n1,a,r1,4\n1,b,r1,2\n2,a,r1,5\n2,b,r1,3\n1,a,r2,4\n1,b,r2,4\n2,a,r2,5\n2,b,r2,4\n"
PAIRS = "item,first,second,rater,choice\n1,a,b,r1,first\n2,b,a,r1,first\n"


def score(*words: str, root: Path) -> int:
    return cli.main(["score", *words, "--quiet", "--root", str(root / "records")])


def choices(path: Path, share: float, items: int = 150) -> str:
    """Choices of six raters, of which b wins a share, and a fifth are ties."""
    drawn = random.Random(3)
    rows = ["item,first,second,rater,choice"]
    for item in range(items):
        for rater in range(6):
            shown = drawn.sample("ab", 2)
            side = "tie" if drawn.random() < 0.2 else "b" if drawn.random() < share else "a"
            rows.append(f"q{item},{shown[0]},{shown[1]},r{rater},{side}")
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("share", "code", "words"), [(0.5, 0, "b: quality held"), (0.2, 1, "b: quality degraded"), (0.42, 4, "b: quality undecided")]
)
def test_the_exit_code_is_the_verdict_of_the_people(
    share: float, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = choices(tmp_path / "choices.csv", share)
    assert score(file, "--ratings", "pairs", "--sides", "a,b", "--margin", "0.12", root=tmp_path) == code
    out = capsys.readouterr().out.replace("\n      ", " ")
    assert words in out
    assert "6 raters" in out


def test_json_has_agreement_and_strength(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(choices(tmp_path / "choices.csv", 0.6), "--ratings", "pairs", "--json", root=tmp_path) == 0
    found = {(row["metric"], row["configuration"]): row for row in json.loads(capsys.readouterr().out)["metrics"]}
    sides = {where.removeprefix("answers=") for metric, where in found if metric == "win_rate"}
    assert sides == {"a", "b"}
    assert found["win_rate", "answers=a"]["value"] + found["win_rate", "answers=b"]["value"] == pytest.approx(1.0)
    assert {"agreement", "strength", "position_effect"} <= {metric for metric, _ in found}


def test_the_page_shows_how_often_each_rating_was_given(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(LONG)
    page = tmp_path / "page.html"
    assert score(str(tmp_path / "r.csv"), "--ratings", "long", "--html", "--output", str(page), root=tmp_path) == 0
    assert "How often was each rating given?" in page.read_text()


def test_the_flags_make_a_file_that_names_the_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(LONG)
    assert score("r.csv", "--ratings", "long", "--sides", "b,a", "--toml", root=tmp_path) == 0
    Path("made.toml").write_text(capsys.readouterr().out)
    evaluation = load(Path("made.toml")).evaluation
    assert evaluation is not None
    assert [one.name for one in evaluation.answers] == ["b", "a"]
    assert cli.main(["run", "made.toml", "--quiet", "--root", "records"]) == 0


def test_the_next_command_scores_the_same_ratings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    choices(Path("choices.csv"), 0.5)
    assert score("choices.csv", "--ratings", "pairs", root=tmp_path) == 0
    command = next(line for line in capsys.readouterr().out.splitlines() if "assay score" in line)
    words = shlex.split(command[command.index("assay score") :])[2:]
    assert words[:1] == ["choices.csv"]
    assert "--margin" in words
    assert score(*words, root=tmp_path) in (0, 1, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("r.csv", "--ratings", "wild"), "--ratings"),
        (("r.csv", "--ratings", "long", "--scale", "1,3"), "a number from 1 to 3"),
        (("r.csv", "--ratings", "long", "--scale", "5,1"), "LOW,HIGH"),
        (("r.csv", "--ratings", "pairs"), "no field 'first'"),
        (("r.csv", "--ratings", "long", "--sides", "a,c"), "no rating of"),
        (("r.csv", "--ratings", "long", "--sides", "a,a"), "each side once"),
        (("r.csv", "--ratings", "long", "--rater", "ratr"), "Did you mean rater?"),
        (("r.csv", "p.csv", "--ratings", "long"), "one file of ratings"),
        (("p.csv", "--ratings", "pairs", "--against", "x"), "a row has two sides"),
        (("p.csv", "--ratings", "pairs", "--raters", "x"), "no columns of raters"),
        (("p.csv", "--ratings", "pairs", "--metric", "f1"), "Leave --metric out."),
        (("p.csv", "--ratings", "pairs", "--margin", "1.5"), "from 0 to 1"),
        (("none.csv", "--ratings", "pairs"), "no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(LONG)
    Path("p.csv").write_text(PAIRS)
    assert score(*words, root=tmp_path) == 2
    assert said in capsys.readouterr().err
    assert not Path("records").exists()


def test_no_name_of_a_person_reaches_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.csv").write_text(LONG.replace("r1", "ann@example.org"))
    assert cli.main(["score", str(tmp_path / "r.csv"), "--ratings", "long", "--root", str(tmp_path / "records")]) == 0
    assert "1 rater whose name is no plain code is kept as a digest" in capsys.readouterr().err
    held = [path for path in (tmp_path / "records").rglob("*") if path.is_file() and b"ann@example.org" in path.read_bytes()]
    assert held == []
