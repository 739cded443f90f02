"""Does the workflow for GitHub Actions parse, and do its commands exist and run on stored records?"""

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


@pytest.fixture
def steps(repository: Path) -> list[dict[str, Any]]:
    content = yaml.safe_load((repository / "examples" / "ci" / "github-actions.yml").read_text())
    found: list[dict[str, Any]] = content["jobs"]["check"]["steps"]
    return found


def commands(steps: list[dict[str, Any]]) -> list[list[str]]:
    """The words of every `assay` command of the workflow."""
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [shlex.split(line.partition(" || ")[0])[1:] for line in lines if line.startswith("assay ")]


def test_every_assay_command_of_the_workflow_exists_with_its_flags(steps: list[dict[str, Any]]) -> None:
    found = commands(steps)
    assert {words[0] for words in found} == {"run", "check"}
    for words in found:
        cli.parser(catalog.load("cli.verbs", words[0])).parse_args(words[1:])


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (4, 0), (9, 0), (2, 1), (3, 1), (5, 1)])
def test_a_verdict_on_the_record_alone_continues_and_an_error_stops(
    steps: list[dict[str, Any]], tmp_path: Path, code: int, expected: int
) -> None:
    script = next(step["run"] for step in steps if step.get("name") == "Measure")
    fake = tmp_path / "assay"
    fake.write_text(f"#!/bin/sh\nexit {code}\n")
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], env={"PATH": path}, timeout=PROCESS_S, check=False)
    assert done.returncode == expected


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
