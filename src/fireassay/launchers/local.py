"""How are workers started on this machine?

By `torchrun`, which also restarts them in fault launches.  Every worker count goes through torchrun, one worker too, so that a speedup
compares like with like.  Without torch, a single worker is started directly: a script that needs no torch can still be measured.
On one node, nothing is reachable from other machines: torchrun's rendezvous is a file in a folder that only this user can open, and
the workers listen on the loopback interface (`base.worker_environment`).
With launcher.start = "fork", torchrun and the workers are forks of a process that has imported torch (`support/fork_server.py`).
Several nodes: start assay on each node with its own node_rank.  They meet by c10d rendezvous at rendezvous_endpoint; node 0 is declared
its host, because the rendezvous hangs where host names resolve to 127.0.0.1.
Source: https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.launchers.support import base, fork_client, interpreter, processors
from fireassay.launchers.support.base import Handle, Launcher, Request
from fireassay.launchers.support.ports import HOST
from fireassay.record.scratch import PREFIX, locked
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Launcher as Settings


def check(experiment: Experiment) -> None:
    """Check that this machine can run the experiment.

    Raises:
        EnvironmentLacks: several workers but no torch, or CPU pinning is unavailable.
        SpecError: a worker count does not divide over the nodes, or the workers cannot be pinned.
    """
    nodes = experiment.launcher.nodes
    uneven = [level for level in experiment.factor.levels if level % nodes]
    if uneven:
        raise refuse(
            "factor.levels", str(uneven), f"multiples of launcher.nodes = {nodes}", "Every node starts the same number of workers."
        )
    if not interpreter.has_torch(experiment.launcher) and max(experiment.factor.levels) > 1:
        raise EnvironmentLacks(
            f'{interpreter.no_torch(experiment.launcher)}. launcher.kind = "local" starts several workers with torchrun; '
            'for a script that needs no torch, set launcher.kind = "plain".'
        )
    if experiment.launcher.start == "fork" and (reason := no_fork()):
        raise EnvironmentLacks(f'launcher.start = "fork" is not possible here: {reason}. Set launcher.start = "exec".')
    processors.check(experiment)


def no_fork(devices: Path = Path("/dev")) -> str:
    """Why workers cannot be forks on this machine; "" if they can."""
    if not interpreter.has_torch(Settings()):
        return f"torch is not installed for {sys.executable}"
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return f"it needs Linux 5.3 or newer, and this is {platform.system()} {platform.release()}"
    accelerators = [name for name in ("nvidiactl", "kfd", "accel") if (devices / name).exists()]
    return f"/dev/{accelerators[0]} exists, and an accelerator's driver does not survive a fork" if accelerators else ""


def command(request: Request, *, with_torch: bool, meeting: str = "") -> list[str]:
    """The engine's command line. `meeting`: rendezvous file of a single node; "" leaves the rendezvous to torchrun."""
    entry = processors.entry(request)
    if not with_torch:
        binding = [sys.executable, "-I", "-S", *entry] if entry else []
        return [*binding, interpreter.path(request.settings), "-u", *request.words]
    return [*base.torchrun(request), *_torchrun(request, meeting), *base.torchrun_script(request, entry)]


def _torchrun(request: Request, meeting: str) -> list[str]:
    """torchrun's own arguments, before the script."""
    return [
        *_rendezvous(request, meeting),
        *(["--log-dir", str(Path(meeting).with_name("logs"))] if meeting else []),  # else one stays in the temporary folder for ever
        "--nproc-per-node",
        str(request.workers // request.settings.nodes),
        "--max-restarts",
        str(request.max_restarts),
        "--monitor-interval",
        "0.1",
    ]


def _rendezvous(request: Request, meeting: str) -> list[str]:
    settings = request.settings
    if settings.nodes == 1:  # file rendezvous: the store of --standalone listens on every interface
        return [
            "--nnodes",
            "1",
            "--rdzv-backend",
            "c10d",
            "--rdzv-conf",
            "store_type=file",
            "--rdzv-endpoint",
            meeting,
            "--rdzv-id",
            "assay",
            "--local-addr",
            HOST,
        ]
    endpoint = settings.rendezvous_endpoint or ""
    is_host = settings.node_rank == 0
    words = [
        "--nnodes",
        str(settings.nodes),
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        endpoint,
        "--rdzv-id",
        settings.rendezvous_id or "assay",
        "--rdzv-conf",
        f"is_host={int(is_host)}",
    ]
    return [*words, "--local-addr", endpoint.rpartition(":")[0]] if is_host else words


def start(request: Request) -> Handle:
    """Start torchrun, or the script itself without torch."""
    with_torch = interpreter.has_torch(request.settings)
    if not with_torch or request.settings.nodes > 1:
        return base.start(request, command(request, with_torch=with_torch))
    held = locked(Path(tempfile.gettempdir()), PREFIX)  # on a local disk: file locks fail on some network file systems
    meeting, after = str(held.path / "rendezvous"), held.remove
    if request.settings.start == "fork":
        return fork_client.start(request, [*_torchrun(request, meeting), *fork_client.script(held.path, request)], held.path, after=after)
    return base.start(request, command(request, with_torch=True, meeting=meeting), after=after)


def prepare(request: Request) -> None:
    """With launcher.start = "fork": a process that has imported torch."""
    if request.settings.start == "fork":
        fork_client.prepare(request)


def describe(request: Request) -> dict[str, object]:
    """The launch's placement."""
    return {
        "launcher": "local",
        "engine": "torchrun" if interpreter.has_torch(request.settings) else "python",
        "host": platform.node(),
        "nodes": request.settings.nodes,
        "node_rank": request.settings.node_rank,
        "start": request.settings.start,
        **processors.placed(request),
    }


LAUNCHER = Launcher(name="local", check=check, start=start, describe=describe, prepare=prepare)
