"""Does `assay score --judge` judge by a model, refuse a margin that nobody checked, and say what the judge is worth?"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.api.rating import items
from fireassay.spec.load import load
from tests.kinds.evaluation.judged import SHOWN, Says, answers, by_worth, gold, rating
from tests.kinds.evaluation.test_judges import ITEMS, some, worths
from tests.oracle import Server, oracle

pytestmark = pytest.mark.slow


def plain(out: str) -> str:
    """What a terminal showed, its lines joined."""
    return " ".join(out.replace("\\\n", " ").split())


def score(*words: str, root: Path) -> int:
    return cli.main(["score", *words, "--quiet", "--root", str(root / "records")])


@contextmanager
def judge(says: Says) -> Iterator[Server]:
    with oracle(lambda request: says(SHOWN.findall(request), request)) as server:
        yield server


def files(folder: Path, lost: float = 0.0, labels: int = 100, form: str = "pairs") -> list[str]:
    """Both sides, the rubric, and labels of some items; the words of the command but the judge's."""
    for name, one in worths(lost).items():
        answers(folder / f"{name}.jsonl", one, name)
    (folder / "r.toml").write_text(f'form = "{form}"\ncriteria = "Which is worth more?"\n')
    gold(folder / "gold.csv", worths(lost), some(labels), form)
    return [str(folder / "a.jsonl"), str(folder / "b.jsonl"), "--id", "id", "--rubric", str(folder / "r.toml"), "--judge-model", "judge-1"]


@pytest.mark.parametrize(("lost", "code", "said"), [(0.0, 0, "b: quality held"), (0.45, 1, "b: quality degraded")])
def test_the_exit_code_is_the_verdict_and_the_first_screen_says_what_the_judge_is_worth(
    lost: float, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = files(tmp_path, lost, labels=200)
    with judge(by_worth(wrong=0.2, first=0.1)) as server:
        found = score(*words, "--judge", server.url, "--gold", str(tmp_path / "gold.csv"), "--margin", "0.12", root=tmp_path)
    out = plain(capsys.readouterr().out)
    assert (found, said in out) == (code, True), out
    assert "beside 200 labels of people the judge is worth" in out
    assert "600 judgements" in out


def test_a_margin_without_labels_is_invalid_and_next_names_the_page_that_makes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = files(tmp_path)
    with judge(by_worth()) as server:
        assert score(*words, "--judge", server.url, "--margin", "0.12", root=tmp_path) == 3
    out = plain(capsys.readouterr().out)
    assert "judged by judge-1 alone" in out
    assert "assay rate gold --record" in out
    assert "--gold gold/ratings.csv" in out


def test_without_a_margin_the_plain_number_comes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path, form="scale")
    with judge(rating()) as server:
        assert score(words[0], *words[2:], "--judge", server.url, "--json", root=tmp_path) == 0
    found = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["metrics"]}
    assert found["judged"]["value"] == pytest.approx(sum(worths(0.0)["a"]) / ITEMS)
    assert found["judge_worth"]["reason"] == "not_measured"


def test_a_repeated_run_asks_nothing_again(tmp_path: Path) -> None:
    words = [*files(tmp_path), "--judge-cache", str(tmp_path / "kept"), "--gold", str(tmp_path / "gold.csv")]
    with judge(by_worth()) as server:
        assert score(*words, "--judge", server.url, root=tmp_path) == 0
        sent = len(server.bodies)
        assert score(*words, "--judge", server.url, root=tmp_path) == 0
        assert (sent, len(server.bodies)) == (2 * ITEMS, 2 * ITEMS)


def test_no_secret_reaches_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    words = files(tmp_path)
    with judge(by_worth()) as server:
        assert score(*words, "--judge", server.url, "--judge-key-env", "JUDGE_KEY", root=tmp_path) == 0
    kept = b"".join(path.read_bytes() for path in (tmp_path / "records").rglob("*") if path.is_file())
    assert b"sk-proj-" not in kept
    assert b"JUDGE_KEY" in kept


def test_the_flags_make_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    more = ("--judge", "http://127.0.0.1:9", "--judge-price", "0.15,0.6", "--margin", "0.1", "--toml")
    assert score(*words, *more, root=tmp_path) == 0
    (tmp_path / "made.toml").write_text(capsys.readouterr().out)
    evaluation = load(tmp_path / "made.toml").evaluation
    assert evaluation is not None
    assert evaluation.judge is not None
    assert (evaluation.judge.price, evaluation.judge.temperature, evaluation.metrics) == ((0.15, 0.6), 0.0, ())


def test_labels_are_chosen_at_random_from_the_record(tmp_path: Path) -> None:
    words = files(tmp_path)
    with judge(by_worth()) as server:
        assert score(*words, "--judge", server.url, root=tmp_path) == 0
    from fireassay.api.rating import sample
    from fireassay.frames.record_data import from_record
    from fireassay.record.reader import open_record

    (record,) = (tmp_path / "records").iterdir()
    measured = from_record(open_record(record))
    assert sample.write(measured, tmp_path / "gold", 20, seed=0) == 20
    first = items.read(tmp_path / "gold")
    assert {tuple(sorted(item.sides)) for item in first} == {("a", "b")}
    assert all(item.prompt.startswith("Question") for item in first)
    assert sample.write(measured, tmp_path / "gold", 30, seed=0) == 30
    assert items.read(tmp_path / "gold")[:20] == first


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--judge", "localhost:8000"), "http:// or https://"),
        (("--judge-model", ""), "--judge-model"),
        (("--rubric", "none.toml"), "no such file"),
        (("--judge-price", "1"), "IN,OUT"),
        (("--gold", "none.csv"), "no such file"),
        (("--score-field", "x"), "none beside a judge"),
        (("--ratings", "long"), "none beside a judge"),
        (("--answer", "reply"), "reply"),
        (("--margin", "1.5"), "from 0 to 1"),
    ],
)
def test_bad_input_is_refused_before_anything_is_asked(
    change: tuple[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = files(tmp_path)
    with judge(by_worth()) as server:
        assert score(*words, "--judge", server.url, *change, root=tmp_path) == 2
        assert server.bodies == []
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "records").exists()


def test_pairs_need_two_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    assert score(words[0], *words[2:], "--judge", "http://127.0.0.1:9", root=tmp_path) == 2
    assert "two sides or more" in " ".join(capsys.readouterr().err.split())


def test_a_judge_that_is_not_there_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fireassay.runners.evaluating.asking.LONGEST_WAIT_S", 0.0)
    words = files(tmp_path)
    with judge(by_worth()) as server:
        pass
    assert score(*words, "--judge", server.url, root=tmp_path) not in (0, 1)
    assert "cannot be asked" in " ".join(capsys.readouterr().err.split())


def test_two_judges_are_sides_of_another_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One errs in 10 %, the other in 60 %: agreement with people falls, and the judges' agreement with each other is counted."""
    words = files(tmp_path, labels=ITEMS)
    rows: dict[str, list[str]] = {"judgements.csv": [], "labelled.csv": []}
    for model, wrong in (("good", 0.1), ("poor", 0.6)):
        with judge(by_worth(wrong=wrong)) as server:
            more = ("--judge", server.url, "--gold", str(tmp_path / "gold.csv"), "--judge-model", model, "--name", model)
            assert score(*words, *more, root=tmp_path) == 0
        assert cli.main(["export", model, "--assay-score", str(tmp_path / model), "--root", str(tmp_path / "records")]) == 0
        for name, lines in rows.items():
            found = (tmp_path / model / name).read_text().splitlines()
            lines += found if not lines else found[1:]
    for name, lines in rows.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    sides = ("--score-field", "agrees", "--score-scale", "0,1", "--id", "id", "--side", "judge", "--margin", "0.05")
    assert score(str(tmp_path / "labelled.csv"), *sides, root=tmp_path) == 1
    assert "poor: quality degraded" in plain(capsys.readouterr().out)
    raters = ("--ratings", "long", "--id", "item", "--rater", "judge", "--scale", "0,1", "--json")
    assert score(str(tmp_path / "judgements.csv"), *raters, root=tmp_path) == 0
    found = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["metrics"]}
    assert 0.0 < found["agreement"]["value"] < 0.9


def test_each_next_command_runs_and_labels_made_so_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    with judge(by_worth()) as server:
        words = ("a.jsonl", "b.jsonl", "--id", "id", "--rubric", "r.toml", "--judge-model", "m", "--judge", server.url, "--margin", "0.12")
        assert score(*words, root=tmp_path) == 3
        shown = capsys.readouterr().out.replace("\\\n", " ")
        label, again = (shlex.split(line) for line in shown.splitlines() if line.startswith("  assay "))
        assert label[:4] == ["assay", "rate", "gold", "--record"]
        items_asked = int(label[label.index("--items") + 1])
        (tmp_path / "gold").mkdir()
        gold(tmp_path / "gold" / "ratings.csv", worths(0.0), some(items_asked), "pairs")
        assert score(*again[2:], root=tmp_path) == 0
