"""The steps of the action and of the component, as a runner's shell executes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.limits import PROCESS_S

REPOSITORY = Path(__file__).resolve().parents[2]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
GITLAB_INPUT = re.compile(r"\$\[\[\s*inputs\.(\w+)\s*\]\]")
PYTHON = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def action(path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / path / "action.yml").read_text())
    return found


def shell(script: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A script with the flags that a hosted runner gives bash."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=3 * PROCESS_S,
        env={**os.environ, "PATH": PYTHON, **variables},
        check=False,
    )


class Job:
    """A job of GitHub in a checked-out folder."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder, self.temporary = folder, folder.parent / "runner"
        self.temporary.mkdir(exist_ok=True)
        self.variables = {"GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"), "GITHUB_ACTION_PATH": str(REPOSITORY), **variables}
        self.outputs: dict[str, str] = {}
        self.said = ""

    @property
    def summary(self) -> str:
        return Path(self.variables["GITHUB_STEP_SUMMARY"]).read_text()

    def run(self, path: str, inputs: Mapping[str, str], *, without: tuple[str, ...] = ("Install",)) -> int:
        """The exit code of the first step of an action that fails, else 0."""
        declared = action(path)
        values = {name: str(one.get("default", "")) for name, one in declared["inputs"].items()} | dict(inputs)
        assert set(inputs) <= set(declared["inputs"])
        for step in declared["runs"]["steps"]:
            if step["name"] not in without and (code := self._step(step, values)):
                return code
        return 0

    def _step(self, step: dict[str, Any], inputs: Mapping[str, str]) -> int:
        file = self.temporary / "output"
        file.write_text("")
        given = {
            name: EXPRESSION.sub(lambda found: self._value(found[1], inputs), str(value)) for name, value in step.get("env", {}).items()
        }
        done = shell(step["run"], self.folder, {**self.variables, **given, "GITHUB_OUTPUT": str(file)})
        self.said += done.stdout + done.stderr
        for line in file.read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode

    def _value(self, expression: str, inputs: Mapping[str, str]) -> str:
        if expression.startswith("inputs."):
            value = inputs[expression.removeprefix("inputs.")]
            return EXPRESSION.sub(lambda found: self._value(found[1], inputs), value)
        return self.variables["GITHUB_TOKEN"] if expression == "github.token" else self.outputs[expression]


def component(name: str, folder: Path, inputs: Mapping[str, str], **variables: str) -> subprocess.CompletedProcess[str]:
    """A job of the component, without its installation."""
    head, jobs = yaml.safe_load_all((REPOSITORY / "templates" / "gate.yml").read_text())
    declared = head["spec"]["inputs"]
    assert set(inputs) <= set(declared)
    assert [key for key, one in declared.items() if "default" not in one and key not in inputs] == []
    values = {key: str(one.get("default", "")) for key, one in declared.items()} | dict(inputs)
    job = jobs[name]
    given = {key: one["value"] if isinstance(one, dict) else one for key, one in job["variables"].items()}
    given = {key: GITLAB_INPUT.sub(lambda found: values[found[1]], one) for key, one in given.items()}
    lines = [line for line in job["script"] if "pip install" not in line]
    return shell("\n".join(lines), folder, {**given, **variables})
