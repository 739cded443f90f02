"""How is a block of a page checked?  It is run, compiled, loaded or looked up, as `tests/docs/blocks.py` promises."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from assay.spec.claim import Claim, load_claim
from assay.spec.experiment import Experiment
from assay.spec.load import load
from tests.docs.blocks import Block
from tests.limits import PROCESS_S

REPOSITORY = Path(__file__).resolve().parents[2]
SMALLEST: dict[str, Any] = {"name": "page", "workload": {"script": "train.py"}, "factor": {"levels": [1, 2]}}


def check(block: Block, folder: Path) -> None:
    """Do what the block's language promises."""
    if block.language == "python":
        run_python(block, folder)
    elif block.language == "sh":
        for command, expected in block.commands:
            run_command(command, expected, folder)
    elif block.language == "toml":
        validate(block, folder)


def run_python(block: Block, folder: Path) -> None:
    if block.file:
        compile(block.text, block.file, "exec")
    else:
        run([sys.executable, "-c", block.text], frozenset({0}), folder, f"line {block.line}")


def run_command(command: str, expected: frozenset[int], folder: Path) -> None:
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE), command
    elif words[:2] == ["pip", "install"]:
        assert_installable(words)
    else:
        run(["bash", "-euo", "pipefail", "-c", command], expected, folder, command)


def run(command: list[str], expected: frozenset[int], folder: Path, what: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PROCESS_S, check=False,
    )  # fmt: skip
    seen = f"{what}: exit {result.returncode}, not {sorted(expected)}\n{result.stdout}\n{result.stderr}"
    assert result.returncode in expected, seen


def assert_installable(words: list[str]) -> None:
    """`pip install` is not run here; the extras that it names must exist."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [extra for word in words for found in re.findall(r"\[(.*?)\]", word) for extra in found.split(",")]
    assert [extra for extra in asked if extra not in extras] == []


def validate(block: Block, folder: Path) -> None:
    """A whole experiment or claim loads from its file; some sections are put into the smallest complete experiment."""
    if block.file and "claim" in tomllib.loads(block.text):
        assert isinstance(load_claim(folder / block.file), Claim)
        return
    if block.file:
        assert isinstance(load(folder / block.file), Experiment)
        return
    whole = dict(SMALLEST)
    for key, value in tomllib.loads(block.text).items():
        whole[key] = {**whole.get(key, {}), **value} if isinstance(value, dict) else value
    (folder / "train.py").touch()
    (folder / "page.toml").write_text(tomli_w.dumps(whole), encoding="utf-8")
    assert isinstance(load(folder / "page.toml"), Experiment)
