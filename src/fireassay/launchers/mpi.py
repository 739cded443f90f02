"""How does mpirun start the workers?

    [launcher]
    kind = "mpi"
    workers_per_node = 8
    mpi = { hostfile = "hosts" }

Open MPI's mpirun starts the ranks itself: on the hosts of the file, on those of the batch system's job around it (Slurm, PBS, LSF, Grid
Engine: mpirun finds them), else on this machine.  A small entry gives each rank the variables of torchrun
(`launchers/support/mpi_rank.py`), so the script needs no MPI.  One mpirun before the first launch asks every node for its name.
mpirun ends all ranks when one fails and restarts none: no fault launches.  On other nodes it cleans up itself: its daemon ends when
mpirun does, and the ranks when the daemon does.
Requirements as for `nodes`: a shared folder.  Source: mpirun(1), https://docs.open-mpi.org/en/v4.1.x/
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from fireassay.errors import EnvironmentLacks, Interrupted, Problem, refuse_any
from fireassay.launchers import nodes
from fireassay.launchers.support import base, interpreter, mpi_rank, supervisor
from fireassay.launchers.support.base import Allocation, Handle, Launcher, Request, Waiting
from fireassay.launchers.support.ports import HOST as LOOPBACK
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Host, Mpi
from fireassay.spec.sections.workload import Launcher as Settings

POLL_S = 0.25
PROBE = (
    "import json, os, platform; e = os.environ; "
    "print(json.dumps({'rank': int(e['OMPI_COMM_WORLD_RANK']), 'name': platform.node(), 'cpus': os.cpu_count()}))"
)
JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")  # by which a batch system names the job around mpirun
NOT_SENT = ("OMPI_", "PMIX_", "PRTE_", *nodes.OF_THE_NODE)  # beginnings of variables that are the node's own


def check(experiment: Experiment) -> None:
    """Check that Open MPI is here, and that it can do what the experiment needs.

    Raises:
        EnvironmentLacks: no mpirun of Open MPI.
        SpecError: hosts, pinning or faults, or a worker count that does not fill its nodes evenly.
    """
    settings = experiment.launcher
    refuse_any((*_unsupported(experiment), *nodes.uneven(experiment, settings.workers_per_node)))
    if shutil.which("mpirun") is None:
        raise EnvironmentLacks("mpirun not found: install Open MPI, or load its module.")
    if "Open MPI" not in (found := version()):
        raise EnvironmentLacks(f"mpirun is not Open MPI's: {found or 'it names no version'}. Put Open MPI's first on the PATH.")


def _unsupported(experiment: Experiment) -> list[Problem]:
    problems = nodes.unsupported(experiment, "Name them in launcher.mpi.hostfile, or start assay in a batch job.")
    if experiment.faults:
        fix = 'mpirun restarts no worker. Use launcher.kind = "local" or "nodes".'
        problems.append(Problem("faults", "a fault", 'none with launcher.kind = "mpi"', fix))
    return problems


def version() -> str:
    """The first line that mpirun says of itself; "" if it fails."""
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, errors="replace", timeout=20, check=True)
        return said.stdout.partition("\n")[0]
    return ""


def mpirun(settings: Settings, per_node: int, *words: str) -> list[str]:
    """mpirun's words up to the program."""
    asked = settings.mpi or Mpi()
    return [
        *("mpirun", "--map-by", f"ppr:{per_node}:node:OVERSUBSCRIBE", "--bind-to", "none"),
        *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
        *(["--hostfile", asked.hostfile] if asked.hostfile else []),
        *words,
        *asked.options,
    ]


def allocate(experiment: Experiment, waiting: Waiting) -> Allocation:
    """The nodes on which mpirun starts ranks, in its order.

    Raises:
        EnvironmentLacks: mpirun fails, or has too few nodes.
        Interrupted: given up while waiting.
    """
    settings = experiment.launcher
    words = [*mpirun(settings, 1, "--display-map"), sys.executable, "-I", "-S", "-c", PROBE]
    output = _answer(words, waiting)
    ranks = sorted((json.loads(line) for line in output.splitlines() if line.startswith('{"rank"')), key=lambda rank: int(rank["rank"]))
    mapped = dict(re.findall(r"Data for node: (\S+)\s+Num slots: (\d+)", output))
    names = list(mapped) if len(mapped) == len(ranks) else [str(rank["name"]) for rank in ranks]
    here = names == [platform.node()]
    most = max(experiment.factor.levels)
    per_node = settings.workers_per_node or (most if here else min(map(int, mapped.values()), default=1))
    refuse_any(nodes.uneven(experiment, per_node))
    if most > per_node * len(names):
        raise EnvironmentLacks(f"{most} workers need {-(-most // per_node)} nodes of {per_node}; mpirun has {', '.join(names)}.")
    return Allocation(
        hosts=(Host(name=names[0], address=LOOPBACK),)
        if here
        else tuple(
            Host(
                name=name,
                address=_address(name, str(rank["name"])),
                prefix=tuple(mpirun(settings, 1, "--quiet", "-np", "1", "--host", name)),
            )
            for name, rank in zip(names, ranks, strict=True)
        ),
        workers_per_node=per_node,
        facts={
            "engine": "mpi",
            "version": version(),
            "cpus": [rank["cpus"] for rank in ranks],
            **{name.lower(): os.environ[name] for name in JOBS if name in os.environ},
        },
        lost=lambda _: None,
        release=lambda: None,
    )


def _address(name: str, own: str) -> str:
    """Where a node's ranks are reached: at its name in the file, or at its own name if that one is an alias of ssh's alone."""
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return own
    return name


def _answer(words: list[str], waiting: Waiting) -> str:
    """What every node says."""
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    # a session of its own: Ctrl-C reaches assay alone
    process = subprocess.Popen(words, stdin=quiet, stdout=pipe, stderr=pipe, text=True, errors="replace", start_new_session=True)
    while True:
        try:
            output, errors = process.communicate(timeout=POLL_S)
            break
        except subprocess.TimeoutExpired:
            if waiting("mpirun: a program on every node"):
                process.terminate()  # mpirun ends its own
                process.communicate()
                raise Interrupted("a request to stop while waiting for mpirun") from None
    if process.returncode:
        said = " ".join(line.strip() for line in errors.splitlines() if line.strip(" -"))
        raise EnvironmentLacks(f"mpirun started nothing: {said or f'exit code {process.returncode}'}")
    return output


def command(request: Request) -> list[str]:
    """The engine's command line."""
    settings, hosts = request.settings, nodes.taking_part(request.settings, request.workers)
    entry = [sys.executable, "-I", "-S", mpi_rank.__file__, nodes.endpoint_of(request), ",".join(host.name for host in hosts)]
    return [
        *mpirun(settings, settings.workers_per_node or request.workers, "--quiet", "-np", str(request.workers)),
        *(word for name in sent(request.environment) for word in ("-x", name)),
        *entry,
        *(interpreter.path(settings), "-u", *request.words),
    ]


def sent(environment: Mapping[str, str]) -> list[str]:
    """Names of the variables that mpirun sends to the ranks of other nodes; their values are in no argument."""
    names = [name for name in environment if re.fullmatch(r"[A-Za-z_]\w*", name) and not name.startswith(NOT_SENT)]
    return [*names, supervisor.MARK]


def start(request: Request) -> Handle:
    """Start mpirun under a supervisor."""
    grace = {"OMPI_MCA_odls_base_sigkill_timeout": str(math.ceil(request.grace_s))}  # between mpirun's SIGTERM and its SIGKILL
    return base.start(replace(request, environment={**request.environment, **grace}), command(request))


def describe(request: Request) -> dict[str, object]:
    """Placement of the launch."""
    return {**nodes.describe(request), "engine": "mpirun"}


LAUNCHER = Launcher(name="mpi", check=check, start=start, describe=describe, allocate=allocate)
