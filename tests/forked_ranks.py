"""Starts the ranks of a module as forks of one process: each of them, and torchrun, would import torch for seconds.

    python -m tests.forked_ranks WORKERS MODULE ARGUMENT...

Each rank has the variables that torchrun would set, but for the port, at which the modules meet by themselves (`corpus.meet`). If one fails
the others are ended.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import traceback
from importlib import import_module

PR_SET_PDEATHSIG = 1
IMPORTS = ("torch", "torch.distributed", "torch._dynamo")  # every optimizer imports the last


def command(workers: int, module: str, *arguments: str) -> list[str]:
    """The words after the interpreter that run the module on so many ranks."""
    return ["-m", __name__, str(workers), module, *arguments] if workers > 1 else ["-m", module, *arguments]


def forked(workers: int, module: str, arguments: list[str]) -> int:
    """0 when all ranks have ended well, else 1."""
    for name in IMPORTS:
        import_module(name)
    ranks = {_fork(rank, workers, module, arguments) for rank in range(workers)}
    while ranks:
        pid, status = os.wait()
        ranks.discard(pid)
        if status:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            return 1
    return 0


def _fork(rank: int, workers: int, module: str, arguments: list[str]) -> int:
    if pid := os.fork():
        return pid
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    elastic = {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_RUN_ID": os.getppid()}
    os.environ.update({name: str(value) for name, value in (ranks | elastic).items()})
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(forked(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
