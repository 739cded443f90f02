"""Are the workers of a job found, by whatever gave them their ranks, and nothing else?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fireassay.instruments.watching.processes import workers_below
from tests.limits import PROCESS_S

WORKER = "import subprocess, sys; helper = subprocess.Popen([sys.executable, '-c', 'input()']); print('ready', flush=True); helper.wait()"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("RANK", "WORLD_SIZE", "SLURM", "OMPI", "PMI"))}


@contextmanager
def started(*, shell: bool, **variables: str) -> Iterator[int]:
    """A worker with a helper, below a shell or not, that ends with its input."""
    words = [sys.executable, "-c", WORKER]
    words = ["sh", "-c", '"$@"; exit', "sh", *words] if shell else words
    with subprocess.Popen(words, env={**CLEAN, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.communicate(b"", timeout=PROCESS_S)


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_ID": "0"},
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"},
        {"PMI_RANK": "1", "PMI_SIZE": "4"},
    ],
)
def test_a_worker_without_torchrun_has_the_rank_of_its_engine(variables: dict[str, str], *, shell: bool) -> None:
    with started(shell=shell, **variables) as pid:
        [worker] = workers_below([pid], "h")
        assert (worker.rank, worker.workers) == (1, 4)
        assert (worker.pid == pid) is not shell


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_PROCID": "0"},  # a batch script is no step
        {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "FIREASSAY_ATTACH": "0"},  # a sampler
    ],
)
def test_what_is_no_worker_is_watched_alone(variables: dict[str, str]) -> None:
    with started(shell=False, **variables) as pid:
        [worker] = workers_below([pid], "h")
        assert (worker.pid, worker.rank, worker.workers) == (pid, 0, 1)


def test_ranks_of_torchrun_come_first() -> None:
    with started(shell=False, SLURM_PROCID="0", SLURM_STEP_ID="0", RANK="3", WORLD_SIZE="8") as pid:
        [worker] = workers_below([pid], "h")
        assert (worker.rank, worker.workers) == (3, 8)
