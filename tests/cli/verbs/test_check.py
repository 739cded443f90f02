"""`assay check`: every state has its exit code, and nothing passes that was not measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fireassay.cli import main
from fireassay.clock import FakeClock
from fireassay.record import files
from fireassay.record import folder as record_folder
from tests.handmade import Handmade
from tests.verdict.sides import made

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


DAY_NS = 86_400 * 10**9


def stored(record: Handmade, root: Path, *, state: str = "complete") -> Path:
    """A record written by hand, on the disk, with the day and the session that it was made with."""
    day = int(str(record.manifest["created_utc"])[8:10])
    folder = record_folder.create(root, record.experiment, "by hand", clock=FakeClock(ns=day * DAY_NS))
    for table, rows in record.rows.items():
        for row in rows:
            folder.writer(row[0]).append(table, row)
    if "session" in record.manifest:
        folder.note(session=record.manifest["session"])
    folder.finish(state)  # type: ignore[arg-type]
    return folder.path


def check(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["check", *words, "--root", str(root), "--quiet", "--full"])
    return code, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("seconds", "state", "code"), [(10.05, "pass", 0), (11.0, "regression", 1), (9.0, "improvement", 8)])
def test_each_state_has_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, state: str, code: int) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    new = stored(made(seconds, day=2, session="s"), tmp_path)
    found, out = check(tmp_path, capsys, str(new), "--against", str(base), "--json")
    assert found == code
    document = json.loads(out)
    assert (document["state"], document["exit_code"], document["design"]) == (state, code, "in turn")


def test_an_accepted_state_gives_0_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    new = stored(made(9.0, day=2, session="s"), tmp_path)
    code, out = check(tmp_path, capsys, str(new), "--against", str(base), "--accept", "improvement,inconclusive")
    assert code == 0
    assert "IMPROVEMENT" in out
    assert "accepted: improvement" in out


def test_an_unknown_state_or_nothing_to_compare_with_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(stored(made(10.0), tmp_path))
    assert main(["check", new, "--against", new, "--accept", "better"]) == 2
    assert "states: pass, regression, not-comparable" in capsys.readouterr().err
    assert main(["check", new]) == 2
    assert "--against" in capsys.readouterr().err
    assert main(["check", new, "--against", new, "--blocks", "2"]) == 2


def test_another_workload_is_not_comparable_and_the_field_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = made(10.0, day=2)
    workload = other.experiment.workload.model_copy(update={"arguments": ("--epochs", "9")})
    other.experiment = other.experiment.model_copy(update={"workload": workload})
    base, new = stored(made(10.0, day=1), tmp_path), stored(other, tmp_path)
    code, out = check(tmp_path, capsys, str(new), "--against", str(base))
    assert code == 3
    assert "NOT COMPARABLE: workload.arguments differs" in out
    code, out = check(tmp_path, capsys, str(new), "--against", str(base), "--varying", "code", "--varying", "arguments")
    assert code == 4


def test_a_record_without_any_launch_is_nothing_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1), tmp_path)
    empty = stored(made([], day=2, failed=2), tmp_path)
    code, out = check(tmp_path, capsys, str(empty), "--against", str(base), "--junit", str(tmp_path / "j.xml"))
    assert code == 5
    assert "NOTHING MEASURED: " in out
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("errors") == "1"


@pytest.mark.parametrize("state", ["failed", "interrupted"])
def test_a_record_that_did_not_come_to_its_end_never_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    new = stored(made(10.0, day=2, session="s"), tmp_path, state=state)
    code, out = check(tmp_path, capsys, str(new), "--against", str(base))
    assert code == 3
    assert "inadmissible" in out


def test_a_failed_launch_keeps_a_record_from_passing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    new = stored(made(10.0, day=2, session="s", failed=1), tmp_path)
    code, out = check(tmp_path, capsys, str(new), "--against", str(base))
    assert code == 4
    assert "did not succeed" in out


@pytest.mark.deep
def test_a_history_alone_finds_a_change_that_three_records_carry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ripple = (1.0, 1.01, 0.99, 1.02, 0.985, 1.005, 0.995, 1.012, 0.991, 1.003)
    for day, factor in enumerate((*ripple, 1.2, 1.21, 1.19), start=1):
        last = stored(made(10.0 * factor, day=day), tmp_path)
    code, out = check(tmp_path, capsys, "--history", str(tmp_path), "--show")
    assert code == 1
    assert "REGRESSION (unconfirmed): Wall time of a run at workers=1: rose by 19.9 %" in out
    assert "which is worse; 3 records support it" in out
    assert last.name in out
    page = (tmp_path / "history.html").read_text()
    assert page.count("<svg") >= 2
    assert page.count("<script") == 1  # ours


def test_a_step_of_one_record_is_suspected_and_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day, factor in enumerate((1.0, 1.01, 0.99, 1.02, 0.985, 1.005, 0.995, 1.2), start=1):
        stored(made(10.0 * factor, day=day), tmp_path)
    code, out = check(tmp_path, capsys, "--history", str(tmp_path), "--confirm", "never")
    assert code == 4
    assert "suspected to be worse" in out


def test_a_history_without_comparable_records_decides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored(made(10.0), tmp_path)
    code, out = check(tmp_path, capsys, "--history", str(tmp_path))
    assert code == 4
    assert "no earlier record" in out


def test_a_passing_record_is_pushed_and_a_failing_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path / "r")
    good = stored(made(10.0, day=2, session="s"), tmp_path / "r")
    bad = stored(made(11.0, day=3, session="s"), tmp_path / "r")
    store = tmp_path / "store"
    assert check(tmp_path / "r", capsys, str(good), "--against", str(base), "--push", str(store))[0] == 0
    assert check(tmp_path / "r", capsys, str(bad), "--against", str(base), "--push", str(store))[0] == 1
    assert [path.name for path in store.iterdir()] == [good.name]


def test_the_summary_is_appended_for_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    summary = tmp_path / "summary.md"
    summary.write_text("# Job\n")
    new = stored(made(10.0, day=2, session="s"), tmp_path)
    check(tmp_path, capsys, str(new), "--against", str(base), "--markdown", str(summary))
    assert summary.read_text().startswith(f"# Job\n### ✓ PASS {new.name} against {base.name}: wall time of a run 0 % ")


def test_writing_into_a_file_instead_of_a_folder_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = stored(made(10.0, day=1, session="s"), tmp_path)
    files.replace(tmp_path / "file", b"")
    new = stored(made(10.0, day=2, session="s"), tmp_path)
    code = main(["check", str(new), "--against", str(base), "--junit", str(tmp_path / "file" / "x.xml")])
    assert code == 6
    assert "cannot write" in capsys.readouterr().err


def test_a_record_against_itself_or_its_copy_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its difference is 0 in every block: that would be a pass of nothing."""
    base = stored(made(10.0, day=1, session="s"), tmp_path / "a")
    copy = Path(shutil.copytree(base, tmp_path / "b" / base.name))
    for other in (base, copy):
        assert main(["check", str(base), "--against", str(other)]) == 2
        assert "which are the same record" in capsys.readouterr().err


def test_a_history_of_other_experiments_is_said_to_be_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = made(10.0, day=1)
    workload = other.experiment.workload.model_copy(update={"arguments": ("--epochs", "9")})
    other.experiment = other.experiment.model_copy(update={"workload": workload})
    stored(other, tmp_path)
    stored(made(10.0, day=2), tmp_path)
    code, out = check(tmp_path, capsys, "--history", str(tmp_path))
    assert code == 4
    assert "no earlier record comparable" in out
    assert "1 earlier record there is not" in out


@pytest.mark.parametrize("text", ["abc", "3", "nan", "0"])
def test_a_share_that_is_none_is_told_in_plain_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "new", "--against", "base", "--margin", text])
    assert ended.value.code == 2
    assert f"{text} is not a share between 0 and 1, for example 0.05" in capsys.readouterr().err
