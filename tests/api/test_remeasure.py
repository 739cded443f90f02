"""A suspected regression is measured again in turn, by the codes that were measured and by no other.

The scripts' steps are timed by a clock that their work alone moves on; the slow one does four times the work. So no assertion is about a
wall time: how long steps of the same work last differs from launch to launch by half a percent, which is less than is worth acting on.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fireassay.api import checking
from fireassay.api.checking import CannotConfirm, Place, baseline_code, code_of, why_not
from fireassay.api.checkout import LOCK, PREFIX, CannotCheckOut
from fireassay.cli import main
from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.lookup import resolve
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping

# The work is a number of turns; a file beside the repository stands for whatever slows a machine down for a day.
SCRIPT = """
import os, pathlib, time

worked = time.monotonic_ns()
time.monotonic_ns = lambda: worked  # before the probe takes it

from fireassay import probe

turns = {turns}
day = pathlib.Path("{day}")
if day.exists():
    turns *= 4
with probe.start() as p:
    for _ in p.steps(range(8)):
        worked += turns * (1000 + os.getpid() % 6)
        p.log(items=1)
"""
TURNS = 1_000  # 1 ms a step: the clock stays behind the true one, since a step that ends after its launch is no measurement


def experiment() -> Experiment:
    return from_mapping(
        {
            "name": "turns",
            "workload": {"script": "work.py"},
            "factor": {"levels": [1]},
            "launcher": {"kind": "plain"},
            "launches": {"per_configuration": 3},
            "energy": {"source": "none"},
            "noise": {"sentinel_s": 0.0},
            "comparison": {"primary": "step_time"},
        }
    )


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(repository: Path, day: Path, turns: int) -> None:
    (repository / "work.py").write_text(SCRIPT.format(turns=turns, day=day))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the fast script in its only commit; the working directory."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, tmp_path / "day", TURNS)
    git(folder, "add", "work.py")
    git(folder, "commit", "-q", "-m", "fast")
    monkeypatch.chdir(folder)
    return folder


def measure(repository: Path, root: Path) -> Path:
    return run(experiment(), folder=repository, root=root)


def checked(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    more = ("--root", str(root), "--quiet", "--json", "--day-to-day", "0.05", "--blocks", "3")
    code = main(["check", *words, *more])
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, document


@pytest.mark.deep
@pytest.mark.slow
def test_four_times_the_work_is_confirmed_against_the_commit_of_the_baseline(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = measure(repository, tmp_path / "records")
    write(repository, tmp_path / "day", 4 * TURNS)
    git(repository, "commit", "-q", "-a", "-m", "slow")
    new = measure(repository, tmp_path / "records")
    code, found = checked(tmp_path / "records", capsys, str(new), "--against", str(base))
    assert (code, found["state"], found["confirmation"]) == (1, "regression", "confirmed"), found
    fresh = found["fresh_records"]
    assert isinstance(fresh, list)
    sessions = [open_record(Path(path)).manifest["session"]["id"] for path in fresh]
    assert len(sessions) == 2
    assert len(set(sessions)) == 1
    assert git(repository, "worktree", "list").count("\n") == 0, "the temporary checkout must be gone"
    # One of the two was made with the baseline's code: it must not be what `latest` names, nor a day of the history.
    assert {Path(path).parent for path in fresh} == {tmp_path / "records" / "confirmations"}
    assert resolve("latest", tmp_path / "records") == new


@pytest.mark.deep
@pytest.mark.slow
def test_a_slow_day_is_suspected_and_not_confirmed(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = measure(repository, tmp_path / "records")
    (tmp_path / "day").touch()
    new = measure(repository, tmp_path / "records")
    (tmp_path / "day").unlink()
    never = checked(tmp_path / "records", capsys, str(new), "--against", str(base), "--confirm", "never")
    assert (never[0], never[1]["confirmation"]) == (1, "unconfirmed")
    code, found = checked(tmp_path / "records", capsys, str(new), "--against", str(base), "--baseline-folder", str(repository))
    assert found["state"] in ("pass", "inconclusive"), found
    assert found["confirmation"] in ("refuted", "undecided")
    assert code == {"pass": 0, "inconclusive": 4}[str(found["state"])]
    assert "confirmed" in str(found["sentence"])


@pytest.mark.deep
@pytest.mark.slow
def test_a_record_of_somebody_else_is_not_measured_again(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = measure(repository, tmp_path / "records")
    write(repository, tmp_path / "day", 4 * TURNS)
    git(repository, "commit", "-q", "-a", "-m", "slow")
    new = shutil.copytree(measure(repository, tmp_path / "records"), tmp_path / "received")
    code, found = checked(tmp_path / "records", capsys, str(new), "--against", str(base))
    assert (code, found["confirmation"]) == (1, "unconfirmed")
    assert "not made by you on this machine and in this folder; allowed: your own, or any with --trust" in str(found)
    trusted = checked(tmp_path / "records", capsys, str(new), "--against", str(base), "--trust")[1]
    assert trusted["confirmation"] == "confirmed"


@pytest.mark.deep
def test_only_the_code_that_was_measured_is_run(repository: Path, tmp_path: Path) -> None:
    base = from_record(open_record(measure(repository, tmp_path / "records")))
    here = Place(folder=None, baseline=None, here=repository)
    assert code_of(base, here) == repository
    with baseline_code(base, here, repository) as tree:
        assert (tree / "work.py").read_bytes() == (repository / "work.py").read_bytes()
        assert tree != repository
    write(repository, tmp_path / "day", 7)
    with pytest.raises(CannotConfirm, match="is not the script that was measured"):
        code_of(base, here)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(CannotConfirm, match="does not contain"):
        code_of(base, Place(folder=other, baseline=None, here=other))
    with pytest.raises(CannotCheckOut, match="git rev-parse"), baseline_code(base, here, other):
        pass


@pytest.mark.deep
def test_a_checkout_that_a_killed_check_left_is_removed_and_one_in_use_is_not(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = from_record(open_record(measure(repository, tmp_path / "records")))
    here = Place(folder=None, baseline=None, here=repository)
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(places))
    left = places / f"{PREFIX}killed"
    git(repository, "worktree", "add", "--detach", str(left / "tree"), "HEAD")
    (left / LOCK).touch()  # nobody holds it: its process is gone
    with baseline_code(base, here, repository) as first:
        assert not left.exists()
        with baseline_code(base, here, repository) as second:
            assert first.is_dir()
            assert second.is_dir()
    assert list(places.iterdir()) == []
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.deep
def test_a_termination_signal_takes_the_checkout_away(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = from_record(open_record(measure(repository, tmp_path / "records")))
    here = Place(folder=None, baseline=None, here=repository)
    with pytest.raises(KeyboardInterrupt), baseline_code(base, here, repository) as tree:
        os.kill(os.getpid(), signal.SIGTERM)
    assert not tree.exists()
    assert git(repository, "worktree", "list").count("\n") == 0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_without_git_the_flag_that_needs_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a script in no repository the baseline's code can only be given."""
    monkeypatch.setattr(checking, "code_of", lambda record, place: tmp_path)
    measured = cast("RecordData", SimpleNamespace(before={}))
    assert "--baseline-folder" in why_not(measured, measured, Place(folder=None, baseline=None, here=tmp_path))
