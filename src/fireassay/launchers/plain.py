"""How are workers started without torch?

As plain processes with RANK and WORLD_SIZE, for any other kind of script and for machines without torch.  The engine is
`launchers/support/process_group.py`: when one worker fails, the others are ended and all are restarted, at most max_restarts times, as in
torchrun.
"""

from __future__ import annotations

import platform
import sys

from fireassay.errors import refuse
from fireassay.launchers.support import base, interpreter, process_group, processors
from fireassay.launchers.support.base import Handle, Launcher, Request
from fireassay.spec.experiment import Experiment


def check(experiment: Experiment) -> None:
    """Check that this launcher can run the experiment.

    Raises:
        SpecError: several nodes, or the workers cannot be pinned.
        EnvironmentLacks: CPU pinning is unavailable.
    """
    if experiment.launcher.nodes > 1:
        raise refuse(
            "launcher.nodes",
            str(experiment.launcher.nodes),
            '1 with launcher.kind = "plain"',
            'Use launcher.kind = "local" (torchrun) for several nodes.',
        )
    processors.check(experiment)


def start(request: Request) -> Handle:
    words = [str(request.workers), str(request.max_restarts), str(request.grace_s)]
    entry = processors.entry(request)
    binding = [sys.executable, "-I", "-S", *entry] if entry else []
    command = [*binding, interpreter.path(request.settings), "-u", *request.words]
    return base.start(request, [sys.executable, "-I", "-S", process_group.__file__, *words, *command])


def describe(request: Request) -> dict[str, object]:
    """Placement of the launch."""
    return {"launcher": "plain", "engine": "assay", "host": platform.node(), "nodes": 1, "node_rank": 0, **processors.placed(request)}


LAUNCHER = Launcher(name="plain", check=check, start=start, describe=describe)
