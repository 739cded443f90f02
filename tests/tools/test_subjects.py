"""tools/subjects.py: a new subject of more than 72 characters is named, an old one is not; also in a shallow clone."""

from __future__ import annotations

import os
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SUBJECTS = Path(__file__).resolve().parents[2] / "tools" / "subjects.py"
OLD, FITS, LONG = "o" * 90, "f" * 72, "l" * 73
MADE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
MADE |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], env=os.environ | MADE, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, subject: str) -> str:
    git(folder, "commit", "--allow-empty", "-qm", f"{subject}\n\n{'a line of the body may be longer ' * 5}")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with one commit, whose subject is too long."""
    folder = tmp_path / "history"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, OLD)
    return folder


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """`check(folder, base)`: exit code and what is printed."""
    main = runpy.run_path(str(SUBJECTS))["main"]
    return lambda folder, *base: (main(folder, *base), capsys.readouterr().out)


def test_only_subjects_after_the_base_count(history: Path, check: Callable[..., tuple[int, str]]) -> None:
    base = git(history, "rev-parse", "HEAD")
    assert check(history, base) == (0, "")
    commit(history, FITS)
    assert check(history, base) == (0, "")
    new = commit(history, LONG)
    code, said = check(history, base)
    assert code == 1
    assert said.splitlines()[1:] == [f"  {git(history, 'rev-parse', '--short', new)}: 73 characters: {LONG}"]


def test_of_a_shallow_clone_all_that_it_holds_is_new(history: Path, tmp_path: Path, check: Callable[..., tuple[int, str]]) -> None:
    base = git(history, "rev-parse", "HEAD")
    commit(history, LONG)
    commit(history, FITS)
    for depth, code in ((1, 0), (2, 1)):
        clone = tmp_path / f"depth-{depth}"
        git(tmp_path, "clone", "-q", "--depth", str(depth), history.as_uri(), str(clone))
        assert check(clone, base)[0] == code


def test_where_nothing_is_committed_nothing_is_checked(tmp_path: Path, check: Callable[..., tuple[int, str]]) -> None:
    assert check(tmp_path) == (0, "")
