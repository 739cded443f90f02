"""Starts the two ranks of a training as forks of one process: each of them, and torchrun, would import torch for seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tests.limits import PROCESS_S


def run(module: str, folder: Path) -> None:
    """`module.main(folder, rank)` for ranks 0 and 1, until both have ended well."""
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", __name__, module, str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, error = started.communicate(timeout=PROCESS_S)
        assert started.returncode == 0, error[-4000:]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def forked(module: str, folder: Path) -> int:
    """1 if a rank failed, which ends the other one."""
    main = import_module(module).main
    import_module("torch._dynamo")  # which an optimizer imports
    ranks = {_fork(main, folder, rank) for rank in (0, 1)}
    while ranks:
        pid, status = os.wait()
        ranks.discard(pid)
        if status:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            return 1
    return 0


def _fork(main: Callable[[Path, int], None], folder: Path, rank: int) -> int:
    if pid := os.fork():
        return pid
    try:
        main(folder, rank)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(forked(sys.argv[1], Path(sys.argv[2])))
