"""Do the workflows for GitHub Actions parse, and do their commands exist and run?"""

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

WORKFLOWS = ("github-actions.yml", "base-branch.yml")


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


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_assay_command_of_a_workflow_exists_with_its_flags(repository: Path, name: str) -> None:
    found = commands(workflow(repository, name))
    assert {words[0] for words in found} == {"run", "check"}
    for words in found:
        cli.parser(catalog.load("cli.verbs", words[0])).parse_args(words[1:])


@pytest.mark.parametrize("name", WORKFLOWS)
@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (4, 0), (9, 0), (2, 1), (3, 1), (5, 1)])
def test_a_verdict_on_the_record_alone_continues_and_an_error_stops(
    repository: Path, tmp_path: Path, name: str, code: int, expected: int
) -> None:
    script = next(step["run"] for step in workflow(repository, name) if step.get("name") == "Measure")
    for program, does in (("assay", f"exit {code}"), ("git", "mkdir ../base")):
        fake = tmp_path / program
        fake.write_text(f"#!/bin/sh\n{does}\n")
        fake.chmod(0o755)
    (tmp_path / "change").mkdir()
    (tmp_path / "change" / "gate.toml").touch()
    more = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "GITHUB_BASE_REF": "main"}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path / "change", env=more, timeout=PROCESS_S, check=False)
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


WORK = """import time

from fireassay import probe

with probe.start() as p:
    for _ in p.steps(range(20)):
        time.sleep({seconds})
"""
GATE = """name = "gate"
[workload]
script = "work.py"
[factor]
levels = [1]
[launches]
per_configuration = 3
[launcher]
kind = "plain"
[comparison]
primary = "step_time"
"""


@pytest.mark.deep
@pytest.mark.slow
def test_the_base_branch_workflow_fails_a_slower_change_although_the_base_has_no_gate(repository: Path, tmp_path: Path) -> None:
    """The change's steps take five times as long."""
    base, change = tmp_path / "origin", tmp_path / "change"
    base.mkdir()
    (base / "work.py").write_text(WORK.format(seconds=0.01))
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")
    for words in (("init", "-q", "-b", "main"), ("add", "work.py"), ("commit", "-q", "-m", "Base")):
        subprocess.run([*git, *words], cwd=base, check=True)
    subprocess.run([*git, "clone", "-q", str(base), str(change)], check=True)
    (change / "work.py").write_text(WORK.format(seconds=0.05))
    (change / "gate.toml").write_text(GATE)
    codes = {
        step["name"]: _shell(step["run"], change)
        for step in workflow(repository, "base-branch.yml")
        if step.get("name") in ("Measure", "Check")
    }
    assert {name: done.returncode for name, done in codes.items()} == {"Measure": 0, "Check": 1}, codes
    assert 'name="state" value="regression"' in (change / "assay.xml").read_text()
    assert "REGRESSION" in (change / "summary.md").read_text()


def _shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A step as the shell of a runner executes it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"PATH": path, "GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=PROCESS_S,
        env=os.environ | more,
        check=False,
    )
