"""A copy of the package in which a test may plant files, and a way to run Python on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.limits import PROCESS_S

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def package_copy(repository: Path, tmp_path: Path) -> Path:
    """A folder with `src/fireassay`, compiled, and `pyproject.toml` as they are; the test may change both."""
    shutil.copytree(repository / "src", tmp_path / "src")
    shutil.copy(repository / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.fixture
def python() -> Run:
    """`python(code, root, *words)`: run code in a fresh interpreter that imports assay from `root/src`."""

    def run(code: str, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=PROCESS_S, check=False)

    return run
