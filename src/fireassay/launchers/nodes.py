"""How does one experiment span several machines?

One torchrun per machine, started through a command prefix; they meet by c10d rendezvous.

    [launcher]
    kind = "nodes"
    hosts = [
      { name = "a", address = "10.0.0.1", prefix = ["ssh", "a"], environment = { GLOO_SOCKET_IFNAME = "eth0" } },
      { name = "b", address = "10.0.0.2", prefix = ["ssh", "b"], environment = { GLOO_SOCKET_IFNAME = "eth0" } },
    ]

The engine is torch elastic; assay starts it on every node under a local supervisor (`launchers/support/supervisor.py`), so a broken
connection leaves nothing running.  The first host runs the rendezvous.
Requirements: the files of assay and of the script and the record's folder at the same paths on every node (a shared folder), and a
Python at this Python's path.  Workers identify their host by its name here (FIREASSAY_HOST), because machines from one image, and
namespaces, share a host name.
Source: https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import json
import platform
import shlex
import socket
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.launchers.support import base, interpreter, node_group, processors, supervisor
from fireassay.launchers.support.base import Handle, Launcher, Request
from fireassay.record.scratch import PREFIX
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Host
from fireassay.spec.sections.workload import Launcher as Settings

HOST = "FIREASSAY_HOST"  # the host name that a node's workers report
# Beginnings of variables that a scheduler sets on the node itself: the node's own values count, not those of this machine.
OF_THE_NODE = ("SLURM", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK")
FEWER = "launcher.workers_per_node lets a level take as many of the first hosts as it fills."
REPORT_S = 5.0  # from the end of a node's grace period to its report here
SHELLS = ("ssh",)  # programs that pass their arguments to a remote shell


def check(experiment: Experiment) -> None:
    """Check that this machine can run the experiment.

    Raises:
        EnvironmentLacks: torch is not installed.
        SpecError: no hosts, duplicate names, or worker counts that do not divide over them.
    """
    hosts = experiment.launcher.hosts
    problems = [*_hosts(hosts), *_levels(experiment), *unsupported(experiment)]
    if experiment.launcher.nodes > 1:
        problems.append(
            Problem(
                "launcher.nodes", str(experiment.launcher.nodes), '1 with launcher.kind = "nodes"', "The nodes are those of launcher.hosts."
            )
        )
    refuse_any(problems)
    check_torch(experiment)


def check_torch(experiment: Experiment) -> None:
    """Check that there is torch, unless no worker needs it. Raises EnvironmentLacks."""
    settings = experiment.launcher
    if trains(experiment) and not interpreter.has_torch(settings):
        raise EnvironmentLacks(f"{interpreter.no_torch(settings)}. Several nodes are started with torchrun.")


def trains(experiment: Experiment) -> bool:
    """Whether the nodes run workers: not the clients of a load, nor the tests of a fleet."""
    return experiment.serving is None and experiment.workload.runner != "fleet"


def _hosts(hosts: tuple[Host, ...]) -> list[Problem]:
    if not hosts:
        return [
            Problem(
                "launcher.hosts",
                "none",
                "one table for each node",
                'For example hosts = [{ name = "a", address = "10.0.0.1", prefix = ["ssh", "a"] }].',
            )
        ]
    duplicates = [name for name, times in Counter(host.name for host in hosts).items() if times > 1]
    return [Problem("launcher.hosts", f"the name {', '.join(duplicates)} twice", "a unique name for each host")] if duplicates else []


def _levels(experiment: Experiment) -> list[Problem]:
    count, per_node = len(experiment.launcher.hosts), experiment.launcher.workers_per_node
    if per_node and count:
        beyond = [level for level in experiment.factor.levels if level > per_node * count]
        most = f"at most {per_node * count}: launcher.workers_per_node = {per_node} on each of the {count} hosts"
        return [*uneven(experiment, per_node), *([Problem("factor.levels", str(beyond), most)] if beyond else [])]
    unequal = [level for level in experiment.factor.levels if count and level % count]
    return (
        [
            Problem(
                "factor.levels", str(unequal), f"multiples of the {count} hosts", f"Every node starts the same number of workers. {FEWER}"
            )
        ]
        if unequal
        else []
    )


def unsupported(experiment: Experiment, instead: str = "") -> list[Problem]:
    """Keys that a launcher of several nodes cannot use. `instead`: where the nodes come from if an engine lends them."""
    settings = experiment.launcher
    problems = []
    if settings.hosts and instead:
        problems.append(Problem("launcher.hosts", "hosts", f'none with launcher.kind = "{settings.kind}"', instead))
    if settings.pin != "none":
        fix = "The processors of another machine are unknown here."
        problems.append(Problem("launcher.pin", repr(settings.pin), f'"none" with launcher.kind = "{settings.kind}"', fix))
    return problems


def uneven(experiment: Experiment, per_node: int | None) -> list[Problem]:
    """Worker counts that would leave the nodes of a launch with different numbers of workers. `per_node`: None if not yet known."""
    wrong = [level for level in experiment.factor.levels if trains(experiment) and per_node and level > per_node and level % per_node]
    fix = "Every node of a launch starts the same number of workers: launcher.workers_per_node says how many."
    return [Problem("factor.levels", str(wrong), f"at most {per_node}, or a multiple of it", fix)] if wrong else []


def taking_part(settings: Settings, workers: int) -> tuple[Host, ...]:
    """The hosts of a launch: all, or as many of the first as the workers fill."""
    per_node = settings.workers_per_node
    return settings.hosts if per_node is None else settings.hosts[: -(-workers // per_node)]


def engine(request: Request, host: Host, endpoint: str, run_id: str) -> list[str]:
    """Command line of a node's torchrun."""
    hosts = taking_part(request.settings, request.workers)
    first = host.name == hosts[0].name
    return [
        *base.torchrun(request),
        "--nnodes",
        str(len(hosts)),
        "--nproc-per-node",
        str(request.workers // len(hosts)),
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        endpoint,
        "--rdzv-id",
        run_id,
        "--rdzv-conf",
        f"is_host={int(first)}",
        "--local-addr",
        host.address,
        "--max-restarts",
        str(request.max_restarts),
        "--monitor-interval",
        "0.1",
        *base.torchrun_script(request),
    ]


def over(prefix: tuple[str, ...], words: list[str]) -> list[str]:
    """Run a command through a prefix; arguments are quoted for programs that join them for a shell."""
    return [*prefix, *(shlex.join([word]) if prefix and Path(prefix[0]).name in SHELLS else word for word in words)]


def job_of_nodes(request: Request, endpoint: str) -> dict[str, object]:
    """The engine's job: for each node, its supervisor's command line and the job sent to that supervisor."""
    nodes, folder = [], request.environment.get("FIREASSAY_LAUNCH_DIR")
    for host in taking_part(request.settings, request.workers):
        mark = f"{request.mark}{host.name}."  # starts with the launch's mark, which matches all nodes; this one matches one node
        job = {
            "command": engine(request, host, endpoint, request.mark),
            "cwd": str(request.cwd),
            "log": str(log_of(request, host)),
            "log_bytes": request.log_bytes,
            "environment": {**host.environment, HOST: host.name, supervisor.MARK: mark},
            "inherited": OF_THE_NODE,
            "secrets": list(request.secrets),
            "grace_s": request.grace_s,
            "mark": mark,
            "scratch": f"{PREFIX}{mark}",
            **({"usage": str(Path(folder) / "usage" / f"{host.name}.json")} if folder else {}),
        }
        nodes.append({"name": host.name, "start": over(host.prefix, [sys.executable, "-I", "-S", supervisor.__file__]), "job": job})
    return {"grace_s": request.grace_s, "nodes": nodes}


def log_of(request: Request, host: Host) -> Path:
    """A node's log, beside the launch's own."""
    return request.log.with_name(f"{request.log.stem}.{host.name}{request.log.suffix}")


def start(request: Request) -> Handle:
    """Start an engine on every node."""
    plan = json.dumps(job_of_nodes(request, endpoint_of(request)))
    return begin(replace(request, environment={**request.environment, node_group.NODES: plan}))


def begin(request: Request) -> Handle:
    """Start the group, whose plan is in the environment. It outlasts its nodes' grace period, to hear how they ended."""
    return base.start(replace(request, grace_s=request.grace_s + REPORT_S), [sys.executable, "-I", "-S", node_group.__file__])


def endpoint_of(request: Request) -> str:
    """host:port of the rendezvous: as configured, else the first host's address and a port that is free here."""
    if request.settings.rendezvous_endpoint:
        return request.settings.rendezvous_endpoint
    with socket.socket() as probe:
        probe.bind(("", 0))
        return f"{request.settings.hosts[0].address}:{probe.getsockname()[1]}"


def describe(request: Request) -> dict[str, object]:
    """Placement of the launch."""
    hosts = taking_part(request.settings, request.workers)
    return {
        "launcher": request.settings.kind,
        "engine": "torchrun",
        "host": platform.node(),
        "nodes": len(hosts),
        "node_rank": 0,
        "hosts": [host.name for host in hosts],
        **processors.placed(request),
    }


LAUNCHER = Launcher(name="nodes", check=check, start=start, describe=describe)
