"""How does one experiment run on nodes of a Ray cluster?

    [launcher]
    kind = "ray"
    workers_per_node = 8
    ray = { address = "10.0.0.1:6379" }

One placement group holds the nodes of the largest worker count for all launches (STRICT_SPREAD: a bundle of CPUs and GPUs on each node).
`launchers/support/ray_group.py` holds it, with an actor on each node; `held_exec.py` is the prefix that runs a command there through the
actor, and each launch is one of `launchers/nodes.py`.  Group and actors belong to that process's connection: however assay ends,
Ray frees them.  A node that dies stops the run; `assay resume` asks for other nodes.
Requirements as for `nodes`: a shared folder; and the cluster's version of Ray in assay's Python.
Source: https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import partial

from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.launchers import nodes
from fireassay.launchers.support import ray_group
from fireassay.launchers.support.base import Allocation, Launcher, Waiting
from fireassay.launchers.support.held import Held
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Ray


def check(experiment: Experiment) -> None:
    """Check that Ray can be asked.

    Raises:
        EnvironmentLacks: no Ray or no torch here.
        SpecError: hosts or pinning, or a worker count that does not fill its nodes evenly.
    """
    settings = experiment.launcher
    problems = [*nodes.unsupported(experiment, "Ray chooses them."), *nodes.uneven(experiment, settings.workers_per_node)]
    if settings.ray and settings.ray.address.startswith("ray://"):
        fix = 'The address of the cluster itself, as "10.0.0.1:6379": a client of Ray\'s gateway cannot hold nodes.'
        problems.append(Problem("launcher.ray.address", settings.ray.address, "host:port", fix))
    refuse_any(problems)
    if importlib.util.find_spec("ray") is None:
        raise EnvironmentLacks(f"ray is not installed for {sys.executable}: pip install 'fireassay[ray]', in the cluster's version.")
    nodes.check_torch(experiment)


def allocate(experiment: Experiment, waiting: Waiting) -> Allocation:
    """The nodes for all launches.

    Raises:
        EnvironmentLacks: Ray refused; its own words.
        Interrupted: given up while waiting.
    """
    settings, wanted = experiment.launcher, experiment.launcher.ray or Ray()
    order = {
        "address": wanted.address,
        "most": max(experiment.factor.levels),
        "per_node": settings.workers_per_node,
        "threads": settings.threads_per_worker,
        "resources": wanted.resources,
        "wait_s": wanted.wait_s,
    }
    held = Held("Ray", [sys.executable, "-I", ray_group.__file__], ["ray", "status"], order)
    answer = held.answer(waiting)
    if uneven := nodes.uneven(experiment, answer["per_node"]):
        held.release()
        refuse_any(uneven)
    return Allocation(
        hosts=held.hosts(answer),
        workers_per_node=answer["per_node"],
        facts={"engine": "ray", **answer["facts"], **{name.lower(): os.environ[name] for name in ("RAY_JOB_ID",) if name in os.environ}},
        lost=partial(held.lost, "Ray's placement group"),
        release=held.release,
    )


LAUNCHER = Launcher(name="ray", check=check, start=nodes.start, describe=nodes.describe, allocate=allocate)
