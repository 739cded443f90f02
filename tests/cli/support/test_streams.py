"""What does every sort of verb do if its output is closed or its disk is full?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S
from tests.tiers import some

FULL = Path("/dev/full")
VERBS = (["--help"], ["--version"], ["list"], ["schema"], ["report", "--help"])
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


def assay(words: list[str], redirection: str, where: Path, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "fireassay", *words]
    return subprocess.run(
        command,
        cwd=where,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_S,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", some(VERBS, 3), ids=" ".join)
def test_a_full_disk_is_one_line_and_the_code_of_what_cannot_be_written(words: list[str], unbuffered: str, tmp_path: Path) -> None:
    done = assay(words, "> /dev/full", tmp_path, unbuffered)
    assert (done.returncode, done.stderr) == (
        6,
        "error: cannot write to standard output: No space left on device. Choose another file or disk.\n",
    )


@pytest.mark.parametrize("words", some(VERBS, 2), ids=" ".join)
def test_a_closed_output_changes_nothing_else(words: list[str], tmp_path: Path) -> None:
    assert assay(words, "", tmp_path).returncode == (closed := assay(words, ">&-", tmp_path)).returncode
    assert closed.stderr == ""


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
def test_without_standard_error_the_code_stays_and_output_stays_clean(redirection: str, tmp_path: Path) -> None:
    done = assay(["report", "nothing"], redirection, tmp_path)
    assert (done.returncode, done.stdout) == (6, "")


def test_a_closed_descriptor_is_taken(tmp_path: Path) -> None:
    """Otherwise the next file to be opened would receive what children print."""
    code = (
        "from fireassay.cli.support import process; process.guard(); import os; print('x', flush=True); os._exit(os.open('f', os.O_CREAT))"
    )
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", sys.executable, "-c", code], cwd=tmp_path, check=False, timeout=PROCESS_S
    )
    assert done.returncode > 2
