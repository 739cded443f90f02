"""Are the nodes of a Slurm job watched, whatever srun says and whatever lies in the folder?  Slurm's commands are scripts here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.api.jobs import watching
from fireassay.api.jobs.watching import Wanted, watch
from fireassay.instruments.watching import sampler
from fireassay.instruments.watching.diagnosis import Diagnosis
from fireassay.instruments.watching.processes import Reading
from fireassay.instruments.watching.sampler import Sampler, Samples

COMPLAINS = "i=0\nwhile [ $i -lt 2000 ]; do echo 'srun: warning: a line that is as long as such lines usually are, or longer' >&2; i=$((i+1)); done\n"
DROPS_ITS_FLAGS = 'while [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n'


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A rank; the test's own process is none."""
    monkeypatch.delenv("RANK", raising=False)
    variables = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\ninput()"], stdin=-1, stdout=-1, env=variables) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """These commands, before all others on the path."""
    (folder / "bin").mkdir()
    for name, script in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def test_an_srun_that_fills_its_pipe_and_a_json_py_in_the_folder_hinder_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: int
) -> None:
    listed = f"echo PID JOBID\necho {worker} 7\n"
    slurm(tmp_path, monkeypatch, squeue="echo 1\n", scontrol=listed, srun=f"{COMPLAINS}{DROPS_ITS_FLAGS}")
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    monkeypatch.chdir(tmp_path)
    found = watch(Wanted(slurm_job="7", seconds=1.0, stacks=False))
    assert (found["job"], found["workers"]) == ("Slurm job 7", 1)


def test_a_day_has_no_more_readings_than_two_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(sampler.time, "sleep", sleep)
    for seconds in (60.0, 7_200.0, 86_400.0):
        with pytest.raises(KeyboardInterrupt):
            Sampler((), stacks=False).run(seconds)
    assert pauses == pytest.approx([0.2, 0.2, 2.4])


def test_the_finding_so_far_is_rarer_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most half a per cent of a processor: the watched job pays for it."""
    now, seen = [0.0], list[float]()

    def slowly(_: Samples) -> Diagnosis:
        seen.append(now[0])
        now[0] += 1.0
        return Diagnosis(kind="none", seconds=now[0], ranks=())

    monkeypatch.setattr(watching, "diagnose", slowly)
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(watching.time, "thread_time", lambda: now[0])
    so_far = watching._SoFar(lambda samples, found: {}, lambda _: None, None)
    one = Reading(rank=0, ns=0, run_ns=0, queue_ns=0, state="S", blocked_in="", faults=0, read_bytes=None, written_bytes=None)
    while now[0] < 450.0:
        so_far(Samples(workers=(), readings=[one]))
        now[0] += 0.5
    assert seen == pytest.approx([0.0, 200.0, 400.0], abs=1.5)
