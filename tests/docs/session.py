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
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tomli_w

from fireassay.cli import main
from fireassay.launchers import local
from fireassay.spec.claim import Claim, load_claim
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import load
from fireassay.spec.sections.prices import Prices, of_file, prices_add_up
from tests.docs.blocks import Block, blocks, forks, needs
from tests.limits import PROCESS_S

REPOSITORY = Path(__file__).resolve().parents[2]
STEERS = frozenset("|<>;&$*`")  # characters that mean something to a shell
SMALLEST: dict[str, Any] = {"name": "page", "workload": {"script": "train.py"}, "factor": {"levels": [1, 2]}}


def prepare(page: Path, folder: Path) -> None:
    """Save the page's files, and link what it needs of the repository."""
    for name in needs(page):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(REPOSITORY / name)
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")


def printed(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page; every block that shows output, with the output of the block above it."""
    prepare(page, folder)
    said = ""
    for block in blocks(page):
        if block.output:
            yield block, said
        else:
            said = check(block, folder, forks(page) and not local.no_fork())


def check(block: Block, folder: Path, forking: bool = False) -> str:
    """Do what the block's language promises, with forked launches or as it stands; what it prints."""
    if block.language == "python":
        return run_python(block, folder)
    if block.language == "sh":
        return "".join([run_command(command, expected, folder, forking) for command, expected in block.commands])
    if block.language == "toml":
        validate(block, folder)
    return ""


def run_python(block: Block, folder: Path) -> str:
    if block.file:
        compile(block.text, block.file, "exec")
        return ""
    return run([sys.executable, "-c", block.text], frozenset({0}), folder, f"line {block.line}")


def run_command(command: str, expected: frozenset[int], folder: Path, forking: bool) -> str:
    words = shlex.split(command, comments=True)
    if forking and words[:2] == ["assay", "run"] and "--dry-run" not in words:
        words[2:2] = ["--start", "fork"]
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE), command
    elif words[:2] == ["pip", "install"]:
        assert_installable(words)
    elif words[0] == "assay" and not STEERS & set(command):
        return run_here(words[1:], expected, folder)
    else:
        return run(["bash", "-euo", "pipefail", "-c", command], expected, folder, command)
    return ""


def run_here(words: list[str], expected: frozenset[int], folder: Path) -> str:
    """In this process, which has loaded already what takes each of them a second."""
    said, complained = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, surroundings()),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(complained),
    ):
        try:
            code = main(words)
        except SystemExit as end:  # argparse, of flags that do not exist
            code = int(end.code or 0)
    out, err = (stream.buffer.getvalue().decode() for stream in (said, complained))
    assert code in expected, f"assay {shlex.join(words)}: exit {code}, not {sorted(expected)}\n{out}\n{err}"
    return out


def run(command: list[str], expected: frozenset[int], folder: Path, what: str) -> str:
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
    return result.stdout


def surroundings() -> dict[str, str]:
    """The commands of the environment that the tests run in come first, and one thread is enough for each process."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "COLUMNS": "80"}


def assert_installable(words: list[str]) -> None:
    """`pip install` is not run here; the extras that it names must exist."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [extra for word in words for found in re.findall(r"\[(.*?)\]", word) for extra in found.split(",")]
    assert [extra for extra in asked if extra not in extras] == []


def validate(block: Block, folder: Path) -> None:
    """A whole experiment, claim or task loads from its file; some sections are put into the smallest complete experiment."""
    if block.file and "template" in tomllib.loads(block.text):
        return  # an own task, which the page's commands read: some are wrong on purpose
    if block.file and "claim" in tomllib.loads(block.text):
        assert isinstance(load_claim(folder / block.file), Claim)
        return
    if block.file and list(tomllib.loads(block.text)) == ["prices"]:
        assert list(prices_add_up(Prices.model_validate(of_file(str(folder / block.file))))) == []
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
