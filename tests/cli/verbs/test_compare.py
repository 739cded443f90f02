"""Does `assay compare` open, refuse, decide and say so by its exit code?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fireassay.api.sides import labels_of
from fireassay.cli import main
from fireassay.clock import SystemClock
from fireassay.record.folder import create
from fireassay.record.lookup import resolve
from fireassay.record.tables import TABLES
from tests.handmade import Handmade
from tests.tiers import some
from tests.verdict.comparing import complete
from tests.verdict.making import good

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


def write(made: Handmade, root: Path, name: str) -> Path:
    """A record through the writers that workers use."""
    folder = create(root, made.experiment.model_copy(update={"name": name}), "0", clock=SystemClock())
    folder.set_environment("before", made.manifest["environment"]["before"])
    folder.set_environment("after", made.manifest["environment"]["after"])
    for table in TABLES:
        for row in made.rows[table]:
            folder.writer(row[0]).append(table, row)
    folder.finish("complete")
    return folder.path


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    write(complete(), made, "before")
    write(complete(efficiency={2: 0.99}), made, "after")
    write(complete(right={2: 20}), made, "worse")
    noisy = complete(quality=None, leave_out=("scores",), blocks=2)
    write(noisy, made, "few")
    write(noisy, made, "little")
    other = complete(efficiency={2: 0.99})
    other.experiment = other.experiment.model_copy(update={"conditions": {"engine": "x"}})
    write(other, made, "other")
    for name in ("nothing", "void"):
        write(Handmade(levels=(1, 2)), made, name)
    return made


def say(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, str, str]:
    """On a machine whose sessions do not differ: the rule for those that do is tested in `tests.verdict.comparison.test_sessions`."""
    code = main(["compare", *words, "--root", str(root), "--day-to-day", "0.000001", "--full"])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_decided_is_0_whatever_the_direction(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    there, back = say(capsys, root, "before", "after"), say(capsys, root, "after", "before")
    assert (there[0], back[0]) == (0, 0)
    assert "after against before, between these two sessions: faster" in there[1]
    assert "before against after, between these two sessions: slower" in back[1]


@pytest.mark.deep
def test_two_sessions_alone_decide_only_large_changes_and_a_history_of_five_decides_more(
    capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path
) -> None:
    """10 % on two occasions: nothing with 15 % assumed between them; with five sessions that do not differ it is faster."""
    for place in range(5):
        write(complete(), tmp_path, f"past-{place}")
    alone = ["compare", "before", "after", "--root", str(root), "--full"]
    assert main(alone) == 4
    assert "or provide 5 or more comparable sessions (--history)" in " ".join(capsys.readouterr().out.split())
    assert main([*alone, "--history", str(tmp_path)]) == 0
    assert "variation between 5 other sessions" in " ".join(capsys.readouterr().out.split())
    assert main([*alone, "--history", str(tmp_path / "nowhere")]) == 6
    with pytest.raises(SystemExit) as stopped:
        main([*alone, "--day-to-day", "7"])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    some(
        [
            (("before", "worse"), 1, "struck out"),
            (("before", "other"), 3, "--varying conditions.engine"),
            (("before", "other", "--varying", "engine"), 0, "faster"),
            (("before", "other", "--force"), 0, "EXPLORATORY"),
            (("few", "little"), 4, "too few launches"),
            (("before", "after", "--at", "workers=1"), 0, "equivalent"),
            (("before", "--at", "workers=1", "--at", "workers=2"), 0, "workers=2 against workers=1"),
            (("before", "after", "--primary", "wall_time"), 0, "equivalent"),
            (("before", "after", "other", "--varying", "engine"), 0, "Side by side"),
            (("nothing", "void"), 5, "NOTHING MEASURED"),
        ],
        5,
        rows=True,
    ),
)
def test_every_end_has_its_code_and_its_word(
    capsys: pytest.CaptureFixture[str], root: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    found = say(capsys, root, *words)
    assert (found[0], said in found[1]) == (code, True), found


@pytest.mark.parametrize(
    ("words", "said"),
    some(
        [
            (("before", "after", "--at", "workers=1", "--at", "workers=2", "--at", "workers=1"), "give one record"),
            (("before", "after", "--varying", "engin"), "--varying engine"),
            (("before", "after", "--at", "workers=9"), "workers=1, workers=2"),
            (("before", "--at", "workers=1"), "two or more"),
            (("before", "after", "--primary", "speed"), "Did you mean"),
        ],
        2,
        rows=True,
    ),
)
def test_what_makes_no_sense_is_2_with_its_mend(capsys: pytest.CaptureFixture[str], root: Path, words: tuple[str, ...], said: str) -> None:
    code, _, error = say(capsys, root, *words)
    assert (code, said in error) == (2, True), error


def test_a_record_that_is_not_there_is_6(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    assert say(capsys, root, "before", "nowhere")[0] == 6


def test_json_is_the_only_thing_on_stdout(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    code, out, _ = say(capsys, root, "before", "after", "--json")
    assert (code, json.loads(out)["state"]) == (0, "compared")


@pytest.mark.deep
def test_html_goes_to_a_file_that_is_named(
    capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert say(capsys, root, "before", "after", "--html")[1] == "comparison.html\n"
    assert "faster" in (tmp_path / "comparison.html").read_text()
    code, out, _ = say(capsys, root, "before", "after", "--markdown", "--output", str(tmp_path / "c.md"))
    assert (code, out, (tmp_path / "c.md").read_text()[:2]) == (0, f"{tmp_path / 'c.md'}\n", "# ")


def test_a_place_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> None:
    (tmp_path / "no").write_text("")
    code, _, error = say(capsys, root, "before", "after", "--html", "--output", str(tmp_path / "no" / "c.html"))
    assert (code, "--output" in error) == (6, True)


def test_labels_are_the_shortest_names_that_tell_the_records_apart() -> None:
    assert labels_of([("a", "a-1"), ("b", "b-1")]) == ["a", "b"]
    assert labels_of([("a", "a-1"), ("a", "a-2")]) == ["a-1", "a-2"]
    assert labels_of([("a", "a-1"), ("a", "a-1")]) == ["a-1 (1)", "a-1 (2)"]


@pytest.mark.deep
def test_a_record_of_an_older_assay_without_an_environment_is_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("x", "y"):
        write(good(prices=1.0), tmp_path, name)
    code, out, _ = say(capsys, tmp_path, "x", "y")
    assert code == 0
    assert "Not recorded on any side" in out


def test_a_record_is_not_compared_with_itself_or_a_copy_of_itself(capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> None:
    place = shutil.copytree(resolve("before", root), tmp_path / "copy")
    for again in ("before", str(place)):
        code, out, err = say(capsys, root, "before", again)
        assert (code, out) == (2, "")
        assert "which are the same record" in err


def test_one_record_alone_is_told_what_else_to_name(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    code, _, err = say(capsys, root, "before", "--at", "workers=2")
    assert code == 2
    assert "found one record, " in err
    assert "--at workers=1 --at workers=2" in err


def test_without_a_record_the_latest_is_taken_and_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = write(complete(), tmp_path, "only")
    code, out, err = say(capsys, tmp_path, "--at", "workers=1", "--at", "workers=2")
    assert code == 0
    assert "workers=2 against workers=1" in out
    assert f"latest: {place}" in err.replace("\n", "")
    code, _, err = say(capsys, tmp_path)
    assert code == 2, "nothing to compare it with: both ways out are named"
    assert "Add a record" in err
    assert "--at workers=1 --at workers=2" in err


def test_a_record_alone_is_compared_with_the_latest_of_its_kind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(complete(), tmp_path, "first")
    later = write(complete(), tmp_path, "later")
    code, out, err = say(capsys, tmp_path, "first")
    assert code in (0, 4)
    assert "later against first" in out
    assert f"latest: {later}" in err.replace("\n", "")
    assert say(capsys, tmp_path, "later")[0] == 2, "the latest is not compared with itself"


def test_a_record_that_was_changed_after_sealing_is_no_evidence(capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> None:
    place = shutil.copytree(resolve("after", root), tmp_path / "edited")
    manifest = place / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"name": "after"', '"name": "later"'))
    code, out, err = say(capsys, root, "before", str(place))
    assert (code, out) == (6, "")
    assert "is damaged: 1 file is not as sealed\n  manifest.json: was changed after sealing" in err
    assert main(["check", str(place), "--against", str(resolve("before", root))]) == 6


@pytest.mark.deep
def test_each_record_may_have_a_configuration_of_its_own(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    """One worker, two workers and another record's two: a table of three, one record named twice."""
    at = ("--at", "workers=1", "--at", "workers=2", "--at", "workers=2")
    code, out, _ = say(capsys, root, "before", "before", "worse", *at, "--json")
    found = json.loads(out)
    assert code == 1, "the third lost quality"
    assert found["sides"] == ["before workers=1", "before workers=2", "worse workers=2"]
    assert found["quality"] == {"before workers=2": "HELD", "worse workers=2": "DEGRADED"}
    code, _, err = say(capsys, root, "before", "before", "worse", "--at", "workers=1", "--at", "workers=2")
    assert code == 2
    assert "which are the same record" in err or "one for each record" in err


@pytest.mark.parametrize(("base", "other", "code"), some([("before", "after", 0), ("before", "worse", 1), ("few", "little", 4)], rows=True))
def test_with_quality_as_the_primary_only_quality_decides(
    base: str, other: str, code: int, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    """`after` is held, `worse` degraded; `few` and `little` told no scores, and no speed makes up for that."""
    assert say(capsys, root, base, other, "--primary", "quality")[0] == code


def test_three_ways_are_named_once_and_need_no_place(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    ways = ("before", "before", "after", "--at", "workers=1", "--at", "workers=2", "--at", "workers=1")
    code, said, aside = say(capsys, root, *ways, "--primary", "quality")
    assert code == 0
    assert "quality decides, not the speed: before workers=2 held, after workers=1 held" in aside
    assert "At workers=" not in said
    assert "workers=2, workers=2" not in said
    assert "before workers=2 against before workers=1" in said
