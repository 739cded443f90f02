"""A history in a branch, a folder or an object store: nothing is lost, kept twice or overwritten."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fireassay.api.ci.history import keep, load, reachable
from fireassay.errors import AssayError, EnvironmentLacks, RecordError, SpecError
from fireassay.verdict.checking.kept import line
from tests.cli.verbs.test_gate import git
from tests.verdict.checking.test_kept import one

WHERE = "branch:assay-history"


def clone(folder: Path, name: str) -> Path:
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{folder / 'origin'}", str(folder / name)], check=True)
    return folder / name


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A shallow clone of a repository with one commit, as a CI job checks it out."""
    origin = tmp_path / "origin"
    git(tmp_path, "init", "-q", "-b", "main", str(origin))
    (origin / "code.py").touch()
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "code")
    return clone(tmp_path, "work")


def lines_of(work: Path) -> list[str]:
    """What the branch holds in the end, read by Git."""
    return git(work.parent / "origin", "show", "assay-history:history.jsonl").splitlines()


def test_a_branch_begins_without_the_code_and_grows_by_a_line_a_gate(work: Path) -> None:
    assert load(WHERE, work) == []
    for day in (1, 2):
        assert keep(WHERE, one(day), work, f"<svg>{day}</svg>") == WHERE
    origin = work.parent / "origin"
    assert lines_of(work) == [line(one(1)), line(one(2))]
    assert git(origin, "show", "assay-history:badge.svg") == "<svg>2</svg>"
    assert git(origin, "ls-tree", "--name-only", "assay-history").split() == ["badge.svg", "history.jsonl"]
    assert git(origin, "log", "--format=%s", "assay-history").splitlines() == ["Keep PASS of 0000000000"] * 2
    assert load(WHERE, work) == [one(1), one(2)]
    assert git(work, "status", "--porcelain") == ""
    assert git(work, "worktree", "list").count("\n") == 0


def test_a_record_that_is_there_is_not_kept_again(work: Path) -> None:
    keep(WHERE, one(1), work)
    assert keep(WHERE, one(1), work) == f"{WHERE}, kept before"
    assert lines_of(work) == [line(one(1))]


def test_jobs_that_push_at_once_keep_every_line(work: Path) -> None:
    clones = [clone(work.parent, f"job{number}") for number in range(1, 6)]
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda item: keep(WHERE, one(item[0]), item[1]), enumerate(clones, start=1)))
    assert said == [WHERE] * 5
    assert sorted(lines_of(work)) == sorted(line(one(day)) for day in range(1, 6))


def test_other_files_of_the_branch_stay(work: Path) -> None:
    origin = work.parent / "origin"
    git(origin, "checkout", "-q", "--orphan", "assay-history")
    (origin / "README").write_text("ours")
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "begin")
    git(origin, "checkout", "-q", "main")
    keep(WHERE, one(), work)
    assert git(origin, "show", "assay-history:README") == "ours"


def test_a_push_that_is_refused_says_what_the_job_needs(work: Path) -> None:
    hook = work.parent / "origin" / ".git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(EnvironmentLacks, match="contents: write"):
        keep(WHERE, one(), work)


def test_a_branch_of_somebody_else_is_not_written_to(work: Path) -> None:
    origin = work.parent / "origin"
    git(origin, "checkout", "-q", "-b", "assay-history")
    (origin / "history.jsonl").write_bytes(b"\xff\xfe ours\n")
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "other")
    before = git(origin, "rev-parse", "assay-history")
    with pytest.raises(RecordError, match="line 1 is not of a kept gate"):
        keep(WHERE, one(), work)
    assert git(origin, "rev-parse", "assay-history") == before


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "--upload-pack=touch x", "a:b", "\n"])
def test_no_name_of_a_branch_becomes_an_option(name: str, work: Path) -> None:
    with pytest.raises(AssayError) if name.startswith("-") else pytest.raises(SpecError):
        reachable(f"branch:{name}", work)
        raise SpecError([])  # a name that Git allows is only looked up
    assert not (work / "x").exists()


def test_without_a_remote_or_a_repository_it_says_so_before_anything_is_measured(tmp_path: Path, work: Path) -> None:
    with pytest.raises(SpecError, match="in a repository with a remote origin"):
        reachable(WHERE, tmp_path)
    git(work, "remote", "set-url", "origin", str(tmp_path / "gone"))
    with pytest.raises(EnvironmentLacks, match="cannot be read"):
        reachable(WHERE, work)


@pytest.mark.parametrize("where", ["memory://assay-test-history", "folder/below"])
def test_a_store_gets_a_file_a_gate_and_never_another_one_in_its_place(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert keep(where, one(1), tmp_path).endswith("/20260101T000000-000000000000.jsonl")
    assert keep(where, one(1), tmp_path).endswith(", kept before")
    keep(where, one(2, digest="e" * 64), tmp_path)
    assert load(where, tmp_path) == [one(1), one(2, digest="e" * 64)]


def test_an_address_with_a_password_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        reachable("s3://user:hunter2hunter2@bucket/history", tmp_path)
    assert "hunter2" not in str(refused.value)


def test_an_empty_folder_has_no_history_and_a_missing_one_says_so(tmp_path: Path) -> None:
    assert load(str(tmp_path), tmp_path) == []
    with pytest.raises(RecordError, match="cannot read"):
        load(str(tmp_path / "none"), tmp_path)
