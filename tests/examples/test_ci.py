"""Do the workflows for GitHub Actions and GitLab parse, and do their commands exist and run?"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fireassay import catalog, cli
from tests.cli.verbs.test_check import stored
from tests.limits import PROCESS_S
from tests.verdict.sides import made


def workflow(repository: Path, name: str) -> list[dict[str, Any]]:
    """The steps of the workflow's only job."""
    content = yaml.safe_load((repository / "examples" / "ci" / name).read_text())
    found: list[dict[str, Any]] = content["jobs"]["check"]["steps"]
    return found


@pytest.fixture
def steps(repository: Path) -> list[dict[str, Any]]:
    return workflow(repository, "github-actions.yml")


def commands(steps: list[dict[str, Any]]) -> list[list[str]]:
    """The words of every `assay` command of the workflow."""
    lines = [line for step in steps for line in step.get("run", "").replace("\\\n", "").splitlines()]
    called = [line.removeprefix("measure() { ").partition(" || ")[0] for line in lines]
    return [shlex.split(line)[1:] for line in called if line.startswith("assay ")]


def gitlab(repository: Path) -> list[str]:
    """The lines of the job's script."""
    found: list[str] = yaml.safe_load((repository / "examples" / "ci" / "gitlab.yml").read_text())["assay"]["script"]
    return found


def test_every_assay_command_of_a_workflow_exists_with_its_flags(repository: Path, steps: list[dict[str, Any]]) -> None:
    of_gate = commands(workflow(repository, "base-branch.yml")) + commands([{"run": line} for line in gitlab(repository)])
    assert [words[0] for words in of_gate] == ["gate", "gate"]
    of_history = commands(steps)
    assert {words[0] for words in of_history} == {"run", "check"}
    for words in (*of_gate, *of_history):
        cli.parser(catalog.load("cli.verbs", words[0])).parse_args(words[1:])


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (4, 0), (9, 0), (2, 1), (3, 1), (5, 1)])
def test_a_verdict_on_the_record_alone_continues_and_an_error_stops(
    steps: list[dict[str, Any]], tmp_path: Path, code: int, expected: int
) -> None:
    script = next(step["run"] for step in steps if step.get("name") == "Measure")
    fake = tmp_path / "assay"
    fake.write_text(f"#!/bin/sh\nexit {code}\n")
    fake.chmod(0o755)
    more = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=more, timeout=PROCESS_S, check=False)
    assert done.returncode == expected


@pytest.mark.deep
def test_the_check_and_the_keeping_run_on_records_of_many_builds(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    """The steps after the measuring, as the shell of a runner executes them, build after build."""
    scripts = [step["run"] for step in steps if step.get("name") in ("Check", "Keep the record")]
    assert len(scripts) == 2
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    summary = tmp_path / "summary.md"
    for day, factor in enumerate((1.0, 1.01, 1.002), start=1):
        stored(made(10.0 * factor, day=day), tmp_path / "records")
        for script in scripts:
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", script],
                cwd=tmp_path,
                text=True,
                capture_output=True,
                timeout=PROCESS_S,
                env=os.environ | {"PATH": path, "GITHUB_STEP_SUMMARY": str(summary)},
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "history").iterdir())) == 3
    titles = [line for line in summary.read_text().splitlines() if line.startswith("#") and "handmade-" in line]
    assert len(titles) == 3, summary.read_text()
    assert all("INCONCLUSIVE" in title for title in titles)
    assert (tmp_path / "assay.xml").read_text().startswith("<?xml")


WORK = "import time\n\ntime.sleep({seconds})\n"


@pytest.fixture
def change(tmp_path: Path) -> Path:
    """A shallow clone of a branch on which the script takes five times as long as on main, as a CI job checks it out."""
    origin, clone = tmp_path / "origin", tmp_path / "change"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitLab and GitHub have it
    for branch, seconds in (("main", 0.1), ("topic", 0.5)):
        git(origin, "checkout", "-q", "-B", branch)
        (origin / "work.py").write_text(WORK.format(seconds=seconds))
        git(origin, "add", "work.py")
        git(origin, "commit", "-q", "-m", branch)
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=topic", f"file://{origin}", str(clone))
    return clone


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.deep
@pytest.mark.slow
def test_the_workflow_of_github_fails_a_slower_change(repository: Path, change: Path) -> None:
    steps = [step for step in workflow(repository, "base-branch.yml") if step.get("name") in ("Fetch the base", "Gate")]
    variables = {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(change / "summary.md")}
    done = [_shell(step["run"], change, variables) for step in steps]
    assert [one.returncode for one in done] == [0, 1], done
    assert 'name="state" value="regression"' in (change / "assay.xml").read_text()
    assert "FAIL" in (change / "summary.md").read_text()
    assert git(change, "worktree", "list").count("\n") == 0


@pytest.mark.deep
@pytest.mark.slow
def test_the_job_of_gitlab_fails_a_slower_change(repository: Path, change: Path, tmp_path: Path) -> None:
    lines = [line for line in gitlab(repository) if not line.startswith("pip ")]
    variables = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": git(tmp_path / "origin", "rev-parse", "main")}
    done = _shell("\n".join(lines), change, variables)
    assert done.returncode == 1, done
    assert "FAIL" in (change / "assay.md").read_text()


def _shell(script: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A step as the shell of a runner executes it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=PROCESS_S,
        env=os.environ | {"PATH": path, **variables},
        check=False,
    )
