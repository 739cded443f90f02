"""The base of a change: which commit it is, where it stands, and that each tree imports its own code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.api import base_tree
from fireassay.api.base_tree import Trees, base_of, only_here, only_in_change, trees_of
from fireassay.api.checkout import LOCK, PREFIX
from fireassay.errors import EnvironmentLacks, SpecError, WorkloadError
from tests.limits import PROCESS_S

pytestmark = pytest.mark.slow  # git is started many times


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """main has one commit, with pkg/work.py; the working tree is on a branch of it."""
    folder = tmp_path / "repository"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "work.py").write_text("pass\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "checkout", "-q", "-b", "topic")
    return folder


def told(_: str) -> None:
    pass


def test_the_base_is_a_commit_and_says_whether_the_trees_differ(repository: Path) -> None:
    base = base_of("main", repository / "pkg")
    assert (base.commit, base.inside, base.same, base.dirty) == (git(repository, "rev-parse", "main"), Path("pkg"), True, False)
    (repository / "pkg" / "work.py").write_text("1\n")
    base = base_of("main", repository)
    assert (base.same, base.dirty) == (False, True)
    git(repository, "commit", "-q", "-a", "-m", "change")
    base = base_of("main", repository)
    assert (base.same, base.dirty) == (False, False)


def test_the_merge_base_is_where_the_branch_left(repository: Path) -> None:
    left = git(repository, "rev-parse", "main")
    git(repository, "checkout", "-q", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "later")
    git(repository, "checkout", "-q", "topic")
    git(repository, "commit", "-q", "--allow-empty", "-m", "change")
    assert base_of("main", repository).commit != left
    assert base_of("main", repository, merge_base=True).commit == left


def test_a_commit_that_is_not_here_comes_with_the_command_that_fetches_it(repository: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(repository, "commit", "-q", "--allow-empty", "-m", "change")
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=topic", f"file://{repository}", str(shallow))
    with pytest.raises(SpecError) as caught:
        base_of("origin/main", shallow)
    fetch = str(caught.value).partition("Fetch it: git ")[2]
    assert fetch == "fetch --depth=1 origin +main:refs/remotes/origin/main"
    git(shallow, *fetch.split())
    assert base_of("origin/main", shallow).commit == git(repository, "rev-parse", "main")
    with pytest.raises(SpecError, match="git fetch --unshallow origin"):
        base_of("origin/main", shallow, merge_base=True)
    for unknown in ("topic~1", "origin/main~1", "25ca3675"):  # a remote knows none of them
        with pytest.raises(SpecError, match=r"git fetch --unshallow origin$"):
            base_of(unknown, shallow)
    with pytest.raises(SpecError, match=f"git fetch --depth=1 origin {'0' * 40}"):
        base_of("0" * 40, shallow)


def test_without_a_repository_or_with_another_name_the_message_helps(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a folder of a Git repository.*assay time"):
        base_of("main", tmp_path)
    with pytest.raises(SpecError, match="Did you mean main?"):
        base_of("origin/main", repository)


def test_each_tree_is_set_up_and_the_base_is_gone_at_the_end(repository: Path) -> None:
    base = base_of("main", repository / "pkg")
    (repository / "pkg" / "work.py").write_text("1\n")
    with trees_of(base, ["cat work.py > seen"], "sleep", told) as trees:
        assert ((trees.base / "seen").read_text(), (trees.change / "seen").read_text()) == ("pass\n", "1\n")
        assert trees.change == repository / "pkg"
    assert not trees.base.exists()
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_failed_setup_names_its_tree_and_shows_its_words(repository: Path) -> None:
    base = base_of("main", repository)
    (repository / "new").touch()
    with (
        pytest.raises(WorkloadError, match=r"--setup in main ended with exit code 3: .*\n  no new"),
        trees_of(base, ["test -e new || { echo no new; exit 3; }"], "sleep", told),
    ):
        pass
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_folder_that_the_base_lacks_is_refused(repository: Path) -> None:
    (repository / "fresh").mkdir()
    with (
        pytest.raises(SpecError, match="main, which has no folder fresh"),
        trees_of(base_of("main", repository / "fresh"), [], "sleep", told),
    ):
        pass


def test_submodules_stand_in_the_base_too(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = tmp_path / "part"
    part.mkdir()
    (part / "file").write_text("1")
    git(part, "init", "-q", "-b", "main")
    git(part, "add", ".")
    git(part, "commit", "-q", "-m", "part")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(repository, "commit", "-q", "-m", "with a part")
    base = base_of("topic", repository)
    with pytest.raises(EnvironmentLacks, match="submodules of topic"), trees_of(base, [], "sleep", told):
        pass
    for name, value in (("COUNT", "1"), ("KEY_0", "protocol.file.allow"), ("VALUE_0", "always")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    with trees_of(base, [], "sleep", told) as trees:
        assert (trees.base / "part" / "file").read_text() == "1"
    assert git(repository, "worktree", "list").count("\n") == 0


def test_what_a_killed_run_left_is_removed_by_the_next(repository: Path, tmp_path: Path) -> None:
    left, gone = tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}gone"
    for folder in (left, gone):
        folder.mkdir()
        git(repository, "worktree", "add", "-q", "--detach", str(folder / "tree"), "main")
    (left / LOCK).touch()
    subprocess.run(["rm", "-r", str(gone)], check=True)
    with trees_of(base_of("main", repository), [], "sleep", told):
        assert git(repository, "worktree", "list").count("\n") == 1
    assert not left.exists()


def test_a_package_installed_in_place_is_imported_from_each_tree(repository: Path, tmp_path: Path) -> None:
    """A virtual environment that both use holds a path into the working tree, as `pip install -e` writes it."""
    source = repository / "src"
    (source / "thing").mkdir(parents=True)
    (source / "thing" / "__init__.py").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a package")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True, timeout=PROCESS_S)
    python = str(tmp_path / "v" / "bin" / "python")
    (site,) = (tmp_path / "v" / "lib").glob("python*/site-packages")
    (site / "__editable__.thing.pth").write_text(f"{source}\n")
    with trees_of(base_of("topic", repository), [], python, told) as trees:
        for folder, variables in zip((trees.base, trees.change), trees.variables, strict=True):
            asked = [python, "-c", "import thing; print(thing.__file__)"]
            done = subprocess.run(
                asked, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=PROCESS_S, check=True
            )
            assert Path(done.stdout.strip()) == folder / "src" / "thing" / "__init__.py"


def test_a_package_installed_as_a_copy_is_told(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"prefix": "/usr", "places": ["/usr/lib"], "copies": {"thing": str(repository), "other": "/elsewhere"}}
    monkeypatch.setattr(base_tree, "_asked", lambda _: answer)
    with trees_of(base_of("main", repository), [], "python", told) as trees:
        assert (trees.copied, trees.variables) == (("thing",), ({}, {}))


def test_only_words_that_are_files_of_the_change_alone_are_lacking(tmp_path: Path) -> None:
    base, change = tmp_path / "base", tmp_path / "change"
    for folder, name in ((base, "both"), (change, "both"), (change, "new"), (change, "data")):
        folder.mkdir(exist_ok=True)
        (folder / name).touch()
    words = ("python", "both", "new", "--in=data", "-v", "absent", "x" * 5000)
    assert only_here(words, Trees(base=base, change=change)) == ["new", "data"]


def test_what_git_does_not_know_is_named_unless_the_gate_writes_it_or_the_setup_makes_it(repository: Path) -> None:
    """What git ignores is named only if the command, or a script that it names, mentions it."""
    (repository / ".gitignore").write_text("*.cache\n*.bin\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "ignores")
    (repository / "pkg" / "work.py").write_text("open('data.bin')\n")
    for name in ("new.py", "made", "pkg/data.bin", "pkg/other.bin", "pkg/a.cache", "gate.xml"):
        (repository / name).touch()
    (repository / "records").mkdir()
    (repository / "records" / "one").touch()
    base = base_of("topic", repository / "pkg")
    outputs = [repository / "records", repository / "gate.xml"]
    with trees_of(base, ["touch ../made"], "sleep", told) as trees:
        assert only_in_change(base, trees, ("python", "work.py"), outputs) == ("../new.py", "data.bin")
        assert only_in_change(base, trees, ("cat", "--in=other.bin"), outputs) == ("../new.py", "other.bin")
