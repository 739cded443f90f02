"""How does one experiment run inside one Slurm allocation?

    [launcher]
    kind = "slurm"
    workers_per_node = 8
    slurm = { partition = "h100", time_limit = "4:00:00", gres = "gpu:8" }

salloc asks for the nodes of the largest worker count, once: all launches use the same nodes, as a comparison needs.  Inside a job
(SLURM_JOB_ID is set: assay in a script for sbatch) that job's nodes are used.  Each launch is one of `launchers/nodes.py`: srun is the
prefix that starts a supervisor on each of its nodes, and torchrun meets by c10d rendezvous.
salloc runs a program that ends at the end of its input: however this process ends, the allocation is given back.  While it waits in the
queue it reads no input: a small process between, which the kernel tells of the end of this one (PR_SET_PDEATHSIG), ends it.
An allocation that ends early (time limit, preemption, scancel, a failed node) stops the run; `assay resume` asks for a new one, and
`launcher.resume_on_preemption` asks by itself, unless somebody cancelled the job.
Requirements as for `nodes`: a shared folder.  Source: salloc(1), srun(1), https://slurm.schedmd.com/preempt.html
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from fireassay.errors import EnvironmentLacks, refuse_any
from fireassay.launchers import nodes
from fireassay.launchers.support.base import Allocation, Launcher, Lost, Waiting
from fireassay.launchers.support.held import ANSWER_S, POLL_S, Held
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Host, Slurm

LINE, CONTINUED = 72, " \\\n"  # of a script that is printed in a terminal, where longer lines are broken
STUCK_S = 10  # after SIGTERM salloc may spin for ever (Slurm 22.05, if it is just handing over the nodes)
ENDS = f"""
import ctypes, os, signal, subprocess, sys
signals, asked = (signal.SIGTERM, signal.SIGCHLD), False
def dies_with_parent():
    ctypes.CDLL(None).prctl(1, int(signal.SIGTERM), 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
ctypes.CDLL(None).prctl(1, int(signal.SIGTERM), 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    salloc = subprocess.Popen(sys.argv[2:], preexec_fn=dies_with_parent)
    while salloc.poll() is None:
        told = signal.sigtimedwait(signals, {STUCK_S} if asked else 3600)
        if told is None and asked:
            salloc.kill()
        elif told is not None and told.si_signo == signal.SIGTERM:
            asked = True
            salloc.terminate()
    sys.exit(salloc.returncode)
"""
KEPT = (
    "import json, os, sys; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('SLURM')}), flush=True); sys.stdin.read()"
)
AGAIN = ("PREEMPTED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "REVOKED")  # ends of a job that nobody asked for
UNREAD_S = 1.0  # salloc reads no input while it waits in the queue
STATE_S = 10.0  # a job that has lost its nodes may be COMPLETING for so long
REASON_S = 5.0  # between two questions why the job waits
TIMES = re.compile(r"(SubmitTime|StartTime)=(\S+)")
FACTS = (
    "SLURM_JOB_ID",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_QOS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_RESTART_COUNT",
)


def check(experiment: Experiment) -> None:
    """Check that this machine can ask Slurm, and that the worker counts fill their nodes.

    Raises:
        EnvironmentLacks: no Slurm commands here, or no torch.
        SpecError: hosts are given, or a worker count does not fill its nodes evenly.
    """
    missing = [name for name in ("salloc", "srun", "scontrol") if shutil.which(name) is None]
    if missing:
        raise EnvironmentLacks(f"{', '.join(missing)} not found: start assay on a login node of the cluster, or in a job.")
    refuse_any([*nodes.unsupported(experiment, "Slurm chooses them."), *nodes.uneven(experiment, per_node_of(experiment))])
    nodes.check_torch(experiment)


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
    requested = "".join(f"#SBATCH {shlex.quote(word)}\n" for word in salloc(experiment))
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
        waited_s = _waited_s(variables["SLURM_JOB_ID"])
        return _allocation(experiment, variables, lost=lambda _: None, release=lambda: None, waited_s=waited_s)
    asked = ["salloc", *salloc(experiment)]
    ends = [sys.executable, "-I", "-S", "-c", ENDS, str(os.getpid())]
    words = [*ends, *asked, "--kill-command", sys.executable, "-I", "-S", "-c", KEPT]
    held = Held("Slurm", words, asked, label="salloc: ", queue_s=UNREAD_S)
    variables = held.answer(_with_reason(waiting))
    return _allocation(experiment, variables, lost=partial(_lost, held, variables["SLURM_JOB_ID"]), release=held.release)


def _allocation(experiment: Experiment, variables: Mapping[str, str], **rest: Any) -> Allocation:
    return Allocation(hosts=_hosts(variables), workers_per_node=per_node_of(experiment), facts=_facts(variables), **rest)


def _with_reason(waiting: Waiting) -> Waiting:
    """With the queue's reason, as squeue says it: "Pending job allocation 7 (Resources)"."""
    asked_at, reason = -REASON_S, ""

    def told(words: str) -> bool:
        nonlocal asked_at, reason
        job = re.search(r"job (?:allocation )?(\d+)", words)
        if job and time.monotonic() - asked_at >= REASON_S:
            said = _said(["squeue", "--noheader", f"--jobs={job[1]}", "--format=%r"]).strip()
            asked_at, reason = time.monotonic(), f" ({said})" if said and said != "None" else ""
        return waiting(f"{words}{reason}")

    return told


def _waited_s(job: str) -> float | None:
    """Seconds that this job waited in the queue, by the controller's clock; None: it does not say."""
    found = dict(TIMES.findall(_said(["scontrol", "show", "job", job, "--oneliner"])))
    with suppress(LookupError, ValueError):
        return max(0.0, (datetime.fromisoformat(found["StartTime"]) - datetime.fromisoformat(found["SubmitTime"])).total_seconds())
    return None


def _lost(held: Held, job: str, wait_s: float) -> Lost | None:
    """How the allocation has ended before its time."""
    if not held.has_ended(wait_s):
        return None
    state, deadline = "COMPLETING", time.monotonic() + STATE_S
    while state == "COMPLETING" and time.monotonic() < deadline:  # how it ended is known when its processes have
        found = re.search(r"JobState=(\w+)", _said(["scontrol", "show", "job", job, "--oneliner"]))
        state = found[1] if found else "it is no longer known"
        time.sleep(POLL_S)
    return Lost(words=f"the end of Slurm job {job} ({state})", state=state, again=state in AGAIN)


def _hosts(variables: Mapping[str, str]) -> tuple[Host, ...]:
    names = _said(["scontrol", "show", "hostnames", variables["SLURM_JOB_NODELIST"]]).split()
    cpus = [
        int(number)
        for number, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", variables["SLURM_JOB_CPUS_PER_NODE"])
        for _ in range(int(times or 1))
    ]
    switches = switches_of(_said(["scontrol", "show", "topology"]))
    return tuple(
        Host(name=name, address=_address(name), prefix=srun(variables["SLURM_JOB_ID"], name, cpu), switch=switches.get(name, ""))
        for name, cpu in zip(names, cpus, strict=True)
    )


def switches_of(topology: str) -> dict[str, str]:
    """node -> its leaf switch, from `scontrol show topology`; empty where the cluster declares none."""
    leaves = re.findall(r"^SwitchName=(\S+) Level=0 .*?Nodes=(\S+)", topology, re.MULTILINE)
    return {node: switch for switch, nodes_ in leaves for node in _said(["scontrol", "show", "hostnames", nodes_]).split()}


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
