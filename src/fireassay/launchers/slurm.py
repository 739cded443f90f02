"""How does one experiment run inside one Slurm allocation?

    [launcher]
    kind = "slurm"
    workers_per_node = 8
    slurm = { partition = "h100", time_limit = "4:00:00", gres = "gpu:8" }

salloc asks for the nodes of the largest worker count, once: all launches use the same nodes, as a comparison needs.  Inside a job
(SLURM_JOB_ID is set: assay in a script for sbatch) that job's nodes are used.  Each launch is one of `launchers/nodes.py`: srun is the
prefix that starts a supervisor on each of its nodes, and torchrun meets by c10d rendezvous.
salloc runs a program that ends at the end of its input: however this process ends, the allocation is given back.
An allocation that ends early (time limit, preemption, scancel, a failed node) stops the run; `assay resume` asks for a new one.
Requirements as for `nodes`: a shared folder.  Source: salloc(1), srun(1), https://slurm.schedmd.com/preempt.html
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from fireassay.errors import EnvironmentLacks, Interrupted, Problem, refuse_any
from fireassay.launchers import nodes
from fireassay.launchers.support import interpreter
from fireassay.launchers.support.base import Allocation, Launcher, Waiting
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Host, Slurm

POLL_S = 0.25
LINE, CONTINUED = 72, " \\\n"  # of a script that is printed in a terminal, where longer lines are broken
ANSWER_S = 20.0  # for Slurm's own commands
KEPT = (
    "import json, os, sys; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('SLURM')}), flush=True); sys.stdin.read()"
)
FACTS = (
    "SLURM_JOB_ID",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_QOS",
    "SLURM_GPUS_ON_NODE",
)


def check(experiment: Experiment) -> None:
    """Check that this machine can ask Slurm, and that the worker counts fill their nodes.

    Raises:
        EnvironmentLacks: no Slurm commands here, or no torch.
        SpecError: hosts are given, or a worker count does not fill its nodes evenly.
    """
    settings = experiment.launcher
    missing = [name for name in ("salloc", "srun", "scontrol") if shutil.which(name) is None]
    if missing:
        raise EnvironmentLacks(f"{', '.join(missing)} not found: start assay on a login node of the cluster, or in a job.")
    problems = (
        [] if not settings.hosts else [Problem("launcher.hosts", "hosts", 'none with launcher.kind = "slurm"', "Slurm chooses them.")]
    )
    refuse_any((*problems, *nodes.uneven(experiment, per_node_of(experiment))))
    if not interpreter.has_torch(settings):
        raise EnvironmentLacks(f"{interpreter.no_torch(settings)}. Several nodes are started with torchrun.")


def per_node_of(experiment: Experiment) -> int:
    """Workers of each node: as given, else its GPUs, else 1."""
    settings = experiment.launcher
    if settings.workers_per_node is not None:
        return settings.workers_per_node
    if "SLURM_JOB_ID" in os.environ:
        return max(1, int(os.environ.get("SLURM_GPUS_ON_NODE", "1") or "1"))
    partition = settings.slurm.partition if settings.slurm else ""
    words = ["sinfo", "--noheader", "--format=%G", *([f"--partition={partition}"] if partition else [])]
    found = [int(gpus) for gpus in re.findall(r"gpu:(?:[^:(,\s]+:)?(\d+)", _said(words))]
    return min(found, default=1)


def salloc(experiment: Experiment) -> list[str]:
    """The words that ask for the allocation, without a program."""
    asked = experiment.launcher.slurm or Slurm()
    per_node = per_node_of(experiment)
    words = {
        "job-name": f"assay-{experiment.name}"[:64],
        "nodes": str(-(-max(experiment.factor.levels) // per_node)),
        "ntasks-per-node": "1",
        "cpus-per-task": "" if asked.exclusive else str(per_node * experiment.launcher.threads_per_worker),
        "partition": asked.partition,
        "account": asked.account,
        "constraint": asked.constraint,
        "gres": asked.gres,
        "time": asked.time_limit,
    }
    return [*(f"--{name}={value}" for name, value in words.items() if value), *(["--exclusive"] if asked.exclusive else []), *asked.options]


def by_hand(experiment: Experiment, words: Sequence[str]) -> str:
    """A script for sbatch, which runs the whole experiment in one job. `words`: assay's command line."""
    requested = "".join(f"#SBATCH {word}\n" for word in salloc(experiment))
    lines = ["exec"]
    for word in map(shlex.quote, [sys.executable, "-m", "fireassay", *words]):
        if len(lines[-1]) + len(word) > LINE:
            lines.append(" ")
        lines[-1] += f" {word}"
    return f"#!/bin/bash\n{requested}{CONTINUED.join(lines)}\n"


def allocate(experiment: Experiment, waiting: Waiting) -> Allocation:
    """The nodes for all launches.

    Raises:
        EnvironmentLacks: Slurm refused; its own words.
        Interrupted: given up while waiting.
    """
    if "SLURM_JOB_ID" in os.environ:
        variables = {name: value for name, value in os.environ.items() if name.startswith("SLURM")}
        return _allocation(experiment, variables, lost=lambda _: "", release=lambda: None)
    held = _Held(["salloc", *salloc(experiment), "--kill-command", sys.executable, "-I", "-S", "-c", KEPT])
    while not held.answered(POLL_S):
        if waiting(f"Slurm: {held.why()}"):
            held.release()
            raise Interrupted("a request to stop while waiting for Slurm")
    return _allocation(experiment, held.variables(), lost=held.lost, release=held.release)


def _allocation(experiment: Experiment, variables: Mapping[str, str], **rest: Any) -> Allocation:
    return Allocation(hosts=_hosts(variables), workers_per_node=per_node_of(experiment), facts=_facts(variables), **rest)


@dataclass
class _Held:
    """salloc, which holds the allocation until its program reaches the end of its input."""

    words: list[str]
    errors: bytes = b""
    line: bytes = b""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches assay alone
        )

    def answered(self, limit_s: float) -> bool:
        """Whether the allocation is there, within the limit. Raises EnvironmentLacks: Slurm refused."""
        pipes = [_pipe(self.process.stdout), _pipe(self.process.stderr)]
        for pipe in select.select(pipes, [], [], limit_s)[0]:
            data = os.read(pipe.fileno(), 1 << 16)
            if pipe is self.process.stderr:
                self.errors += data
            else:
                self.line += data
                if not data:
                    self.release()
                    raise EnvironmentLacks(
                        f"Slurm gave no nodes: {self._words()}\nAsked: {shlex.join(self.words[: self.words.index(sys.executable)])}"
                    )
        return b"\n" in self.line

    def why(self) -> str:
        """What salloc says, as "Pending job allocation 12"."""
        return self._words() or "asked for nodes"

    def _words(self) -> str:
        lines = [
            line.removeprefix("salloc: ").removeprefix("error: ")
            for line in self.errors.decode(errors="replace").splitlines()
            if line.strip()
        ]
        return lines[-1] if lines else ""

    def variables(self) -> dict[str, str]:
        return dict(json.loads(self.line))

    def lost(self, wait_s: float) -> str:
        """Why the allocation has ended before its time."""
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return ""
        job, state = self.variables()["SLURM_JOB_ID"], "COMPLETING"
        deadline = time.monotonic() + wait_s
        while state == "COMPLETING" and time.monotonic() < deadline:  # how it ended is known when its processes have
            found = re.search(r"JobState=(\w+)", _said(["scontrol", "show", "job", job, "--oneliner"]))
            state = found[1] if found else "it is no longer known"
            time.sleep(POLL_S)
        return f"the end of Slurm job {job} ({state})"

    def release(self) -> None:
        """Give the nodes back."""
        with suppress(OSError):
            _pipe(self.process.stdin).close()
        try:
            self.process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:  # it waits in the queue, where it reads no input: SIGTERM cancels the request
            self.process.terminate()
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _hosts(variables: Mapping[str, str]) -> tuple[Host, ...]:
    names = _said(["scontrol", "show", "hostnames", variables["SLURM_JOB_NODELIST"]]).split()
    cpus = [
        int(number)
        for number, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", variables["SLURM_JOB_CPUS_PER_NODE"])
        for _ in range(int(times or 1))
    ]
    return tuple(
        Host(name=name, address=_address(name), prefix=srun(variables["SLURM_JOB_ID"], name, cpu))
        for name, cpu in zip(names, cpus, strict=True)
    )


def srun(job: str, node: str, cpus: int) -> tuple[str, ...]:
    """The prefix that runs a command on one node, on all that the job has there."""
    return (
        *("srun", f"--jobid={job}", f"--nodelist={node}", "--nodes=1", "--ntasks=1", f"--cpus-per-task={cpus}"),
        *("--overlap", "--cpu-bind=none", "--mem=0", "--unbuffered", "--quiet", "--job-name=assay"),
    )


def _address(node: str) -> str:
    """Where Slurm itself reaches the node."""
    found = re.search(r"NodeAddr=(\S+)", _said(["scontrol", "show", "node", node, "--oneliner"]))
    return found[1] if found else node


def _facts(variables: Mapping[str, str]) -> dict[str, object]:
    return {"engine": "slurm", **{name.removeprefix("SLURM_").lower(): variables[name] for name in FACTS if name in variables}}


def _said(words: list[str]) -> str:
    """What one of Slurm's commands prints; "" if it fails."""
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=ANSWER_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


LAUNCHER = Launcher(name="slurm", check=check, start=nodes.start, describe=nodes.describe, allocate=allocate, by_hand=by_hand)
