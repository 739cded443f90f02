"""What does `assay --version` say of the installation, and is the commit never another project's?"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.cli.support.installation import BUILD, CHANGED, commit, core, extras


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def package_in(top: Path) -> Path:
    """A package where Fireassay's is in its repository, or in an environment of another project."""
    package = top / "src" / "fireassay"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    return package


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, which holds the package and a page."""
    package_in(tmp_path)
    (tmp_path / "page.md").write_text("page")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_a_checkout_says_its_commit_and_whether_the_package_is_changed(repository: Path) -> None:
    package = repository / "src/fireassay"
    head = git(repository, "rev-parse", "HEAD")[:12]
    (repository / "page.md").write_text("another page")
    assert commit(package) == head
    (package / "new.py").write_text("")
    assert commit(package) == f"{head}{CHANGED}"


def test_git_variables_of_a_hook_do_not_lead_to_another_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "--quiet")
    head = git(repository, "rev-parse", "HEAD")[:12]
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert commit(repository / "src/fireassay") == head


@pytest.mark.parametrize("where", ["env/lib", "."])
def test_an_environment_inside_another_projects_repository_says_nothing_of_that(repository: Path, where: str) -> None:
    """Below a folder of it, and, untracked, just where ours would be."""
    git(repository, "rm", "-r", "--quiet", "src")
    git(repository, "commit", "--quiet", "-m", "second")
    assert commit(package_in(repository / where)) == "unknown"


def test_a_build_says_its_commit_whatever_repository_it_lies_in(repository: Path) -> None:
    package = repository / "src/fireassay"
    (package / BUILD).write_text('{"commit": "0123456789ab"}')
    assert commit(package) == "0123456789ab"


@pytest.mark.parametrize("broken", ["", "{", "[1]", '"text"', "{}", '{"core": "x"}'])
def test_a_build_that_cannot_be_read_is_of_an_unknown_commit(repository: Path, broken: str) -> None:
    (repository / "src/fireassay" / BUILD).write_text(broken)
    assert commit(repository / "src/fireassay") == "unknown"


def test_without_git_a_checkout_is_of_an_unknown_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert commit(repository / "src/fireassay") == "unknown"


def test_without_a_core_the_reason_is_the_builds_or_the_loaders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fireassay.traffic.wire._core", None)
    assert core(tmp_path) == "Python: not compiled when this was installed"
    (tmp_path / BUILD).write_text('{"core": "not compiled, no gcc"}')
    assert core(tmp_path) == "Python: not compiled, no gcc"

    def fail(name: str) -> None:
        raise ImportError("/lib/libc.so.6: version `GLIBC_2.34' not found")

    monkeypatch.setattr(importlib, "import_module", fail)
    assert core(tmp_path) == "Python: /lib/libc.so.6: version `GLIBC_2.34' not found"


def test_an_extra_is_installed_if_each_of_its_distributions_is_with_its_own_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: `whole`, whose two distributions are there, one with the extra that it wants; `half`, of which one is absent."""
    plant(
        tmp_path,
        "planted",
        'here<2,>=1; extra == "whole"',
        'web[h2]; extra == "whole"',
        'here; extra == "half"',
        'not-there; extra == "half"',
    )
    plant(tmp_path, "planted", 'web[h3]; extra == "nested"', "here", 'here; python_version < "3" and extra == "old"')
    plant(tmp_path, "here")
    plant(tmp_path, "web", 'here; extra == "h2"', 'not-there; extra == "h3"')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert extras("planted") == ["whole"]
    assert extras("not-there") == []


def plant(folder: Path, name: str, *requirements: str) -> None:
    path = folder / f"{name}-1.0.dist-info" / "METADATA"
    path.parent.mkdir(exist_ok=True)
    head = "" if path.exists() else f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n"
    with path.open("a") as file:
        file.write(head + "".join(f"Requires-Dist: {line}\n" for line in requirements))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_on_this_machine_the_core_is_compiled() -> None:
    assert core(Path(os.devnull)) == "compiled"
