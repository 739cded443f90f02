"""Starts the two ranks of a training: torchrun would import torch a third time to do the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.limits import PROCESS_S


def run(module: str, folder: Path) -> None:
    """`python -m module FOLDER RANK` for ranks 0 and 1, until both have ended well."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", module, str(folder), str(rank)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        for process in started:
            _, error = process.communicate(timeout=PROCESS_S)
            assert process.returncode == 0, error[-4000:]
    finally:
        for process in started:
            process.kill()
            process.wait()
