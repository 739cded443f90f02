"""How are the nodes of a Slurm job watched?  A sampler on each, started by srun inside the job, prints what it sees as lines of JSON.

`scontrol listpids` names the processes of the job on its node. The sampler's step shares the job's processors (`--overlap`).
Clocks of different nodes are never compared: each worker is judged by its own times.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from fireassay import isolated
from fireassay.errors import EnvironmentLacks
from fireassay.instruments.watching.processes import Reading, Worker, ends_with, workers_below
from fireassay.instruments.watching.sampler import NICE, Look, Sampler, Samples
from fireassay.instruments.watching.stacks import Frame

SRUN: Final = ("srun", "--overlap", "--ntasks-per-node=1", "--kill-on-bad-exit=0", "--quiet", "--input=none")
TELL_S: Final = 1.0
WHY: Final = 300


def pids_here(job: str) -> list[int]:
    """The job's processes on this node. Raises EnvironmentLacks: Slurm does not answer."""
    node = os.environ.get("SLURMD_NODENAME")  # of several nodes on one machine
    rows = [line.split() for line in _answer("scontrol", "listpids", job, *([node] if node else [])).stdout.splitlines()[1:]]
    return [int(row[0]) for row in rows if row and row[0].isdecimal() and int(row[0]) != os.getpid()]


def _answer(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentLacks(f"{words[0]} cannot be run ({error}). Watch a Slurm job where its commands are installed.") from None


def watched_nodes(job: str, seconds: float, stacks: bool, tick: Callable[[Samples], None]) -> Samples:
    """Samples of all nodes of a Slurm job. Raises EnvironmentLacks: srun fails, or no worker is found."""
    sampler = isolated.python("-m", __name__, job, str(seconds), str(int(stacks)))
    words = [*SRUN, f"--jobid={job}", f"--nodes={_nodes(job)}", *sampler]
    ends = ends_with(os.getpid(), signal.SIGTERM)  # srun passes it on: else the samplers would go on
    variables = isolated.environment({**os.environ, "FIREASSAY_ATTACH": "0"})  # a sampler is no worker
    samples = Samples(workers=())
    with tempfile.TemporaryFile("w+", errors="replace") as errors:  # a pipe would fill: it is read at the end
        try:
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace", env=variables, preexec_fn=ends
            )
        except OSError as error:
            raise EnvironmentLacks(f"srun cannot be run ({error.strerror}). Watch a Slurm job where its commands are installed.") from None
        assert process.stdout is not None
        with process:
            try:
                for line in process.stdout:
                    with suppress(ValueError, KeyError, TypeError):  # a line of somebody else's
                        _add(samples, json.loads(line))
                        tick(samples)
            except KeyboardInterrupt:
                if not samples.readings:
                    raise
            finally:
                process.terminate()
        errors.seek(0)
        trouble = errors.read()
    if not samples.readings:
        why = " ".join(trouble.split())[-WHY:] or "no process of the job has a rank: RANK of torchrun, or that of srun or mpirun"
        raise EnvironmentLacks(f"nothing of the Slurm job {job} can be watched: {why}")
    return samples


def _nodes(job: str) -> int:
    """How many nodes a running job has: outside of its allocation srun takes one. Raises EnvironmentLacks: there is no such job."""
    done = _answer("squeue", "-h", "-j", job, "-t", "R", "-o", "%D")
    if not done.stdout.strip().isdecimal():
        why = " ".join(done.stderr.split())[-WHY:] or "squeue shows none"
        raise EnvironmentLacks(f"Slurm has no running job {job}: {why}. See: squeue")
    return int(done.stdout)


def _add(samples: Samples, told: dict[str, Any]) -> None:
    known = {worker.rank for worker in samples.workers}
    samples.workers += tuple(Worker(**one) for one in told["workers"] if one["rank"] not in known)
    samples.readings += [Reading(**one) for one in told["readings"]]
    samples.looks += [Look(**{**one, "frames": tuple(Frame(**frame) for frame in one["frames"])}) for one in told["looks"]]
    samples.trouble = samples.trouble or told["trouble"]
    samples.ended = samples.ended or told["ended"]
    samples.cpu_s += told["cpu_s"]


def tell(sampler: Sampler, seconds: float) -> None:
    """Sample, and print what was seen since the last line about once a second."""
    readings = looks = 0
    cpu_s = next_s = 0.0

    def news(samples: Samples) -> None:
        nonlocal readings, looks, cpu_s, next_s
        line = {
            "workers": [asdict(worker) for worker in samples.workers],
            "readings": [asdict(one) for one in samples.readings[readings:]],
            "looks": [asdict(one) for one in samples.looks[looks:]],
            "trouble": samples.trouble,
            "ended": samples.ended,
            "cpu_s": samples.cpu_s - cpu_s,
        }
        readings, looks, cpu_s = len(samples.readings), len(samples.looks), samples.cpu_s
        next_s = time.monotonic() + TELL_S
        print(json.dumps(line), flush=True)

    news(sampler.run(seconds, tick=lambda samples: news(samples) if time.monotonic() >= next_s else None))


def main() -> None:
    """On one node: JOB SECONDS STACKS."""
    job, seconds, stacks = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "1"
    os.nice(NICE)
    if workers := workers_below(pids_here(job), os.environ.get("SLURMD_NODENAME") or socket.gethostname()):
        tell(Sampler(workers, stacks=stacks), seconds)


if __name__ == "__main__":
    main()
