"""How is a block of a page checked?  It is run, compiled, loaded or looked up, as `tests/docs/blocks.py` promises."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tomli_w

from fireassay.cli import main
from fireassay.spec.claim import Claim, load_claim
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import load
from tests.docs.blocks import Block
from tests.limits import PROCESS_S

REPOSITORY = Path(__file__).resolve().parents[2]
STEERS = frozenset("|<>;&$*`")  # characters that mean something to a shell
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
    elif words[0] == "assay" and not STEERS & set(command):
        run_here(words[1:], expected, folder)
    else:
        run(["bash", "-euo", "pipefail", "-c", command], expected, folder, command)


def run_here(words: list[str], expected: frozenset[int], folder: Path) -> None:
    """In this process, which has loaded already what takes each of them a second."""
    said = io.StringIO()
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, surroundings()),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        code = main(words)
    assert code in expected, f"assay {shlex.join(words)}: exit {code}, not {sorted(expected)}\n{said.getvalue()}"


def run(command: list[str], expected: frozenset[int], folder: Path, what: str) -> None:
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | surroundings(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    seen = f"{what}: exit {result.returncode}, not {sorted(expected)}\n{result.stdout}\n{result.stderr}"
    assert result.returncode in expected, seen


def surroundings() -> dict[str, str]:
    """The commands of the environment that the tests run in come first, and one thread is enough for each process."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}


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
