"""Runs a script the way assay's launcher does, without a coordinator, and reads what its probes wrote.

launch = Launched(tmp_path / "launch=0000"); launch.run("script.py", workers=2); launch.table("steps")
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.streams import read_stream
from fireassay.record.tables import TABLES
from tests import forked_ranks
from tests.limits import PROCESS_S


def environment(**more: str) -> dict[str, str]:
    """The environment of a launch's workers; nothing of assay is left in it from outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FIREASSAY_")}
    return {**kept, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **more}


@dataclass(frozen=True)
class Launched:
    """One launch's folder."""

    folder: Path

    def run(self, *command: str | Path, workers: int = 0, seed: int = 7, limit_s: float = PROCESS_S) -> subprocess.CompletedProcess[str]:
        """Run a script to its end: by torchrun with so many workers, or by itself (0)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own = {"FIREASSAY_LAUNCH_DIR": str(self.folder), "FIREASSAY_LAUNCH": "0", "FIREASSAY_SEED": str(seed)}
        return run(*command, workers=workers, limit_s=limit_s, **own)

    def table(self, name: str) -> pl.DataFrame:
        """The rows of all processes of this launch."""
        streams = sorted(self.folder.glob(f"{name}.*.arrows"))
        frames = [pl.from_arrow(batch) for path in streams for batch in read_stream(path).batches]
        empty = pl.from_arrow(arrow_schema(name).empty_table())
        assert isinstance(empty, pl.DataFrame)
        assert list(TABLES[name].column_names) == empty.columns
        return pl.concat([empty, *(frame for frame in frames if isinstance(frame, pl.DataFrame))])


def run(*command: str | Path, workers: int = 0, limit_s: float = PROCESS_S, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script with this Python, under torchrun if `workers` is not 0; a module's ranks are forks. A script that hangs fails the test."""
    if workers and command[0] == "-m":
        command, workers = tuple(forked_ranks.command(workers, *map(str, command[1:]))), 0
    with started(*command, workers=workers, **variables) as job:
        out, err = job.communicate(timeout=limit_s)
    return subprocess.CompletedProcess(job.args, job.returncode, out, err)


@contextmanager
def started(*command: str | Path, workers: int = 0, options: tuple[str, ...] = (), **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A running script. What still runs at the end is asked to end, so that torchrun takes its workers along."""
    engine = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers), *options] if workers else []
    line = [sys.executable, *engine, *map(str, command)]
    pipe = subprocess.PIPE
    job = subprocess.Popen(line, env=environment(**variables), stdout=pipe, stderr=pipe, text=True)
    try:
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
            job.communicate()
