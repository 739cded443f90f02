"""How are collectives timed?  By launches of assay's own worker, made like those of any training script.

The experiment's launcher starts the worker (`fireassay/instruments/collectives/worker.py`), which is metered and can be stopped,
resumed and timed out like any launch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fireassay import catalog, isolated
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.instruments.collectives.operations import elements
from fireassay.launchers.support.base import Launcher
from fireassay.runners.experiment.context import Job, Made, Runner
from fireassay.runners.launching.launch import LaunchRun
from fireassay.runners.training import Training, worker_request
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.comm import INTERFACES
from fireassay.spec.sections.collectives import DTYPES, IMPORTED, MIN_SPAN, Collectives, cells

GIB: Final = 2**30
HERE: Final = ("local", "plain")  # launchers that keep all workers on this machine
ASK_S: Final = 120.0  # importing torch may take long on a busy machine
_ASK: Final = "import sys, torch.distributed as d; sys.exit(0 if getattr(d, f'is_{sys.argv[1]}_available')() else 3)"


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the experiment can start.

    Raises:
        SpecError: the element type cannot hold exact sums over so many ranks.
        EnvironmentLacks: torch, the backend or something that the launcher needs is missing.
    """
    launcher: Launcher = catalog.load("launchers", experiment.launcher.kind)
    launcher.check(experiment)
    _has_torch()
    requested = experiment.collectives_requested
    _sums_are_exact(requested, requested.ranks(max(experiment.factor.levels)))
    if experiment.launcher.kind in HERE and experiment.launcher.nodes == 1:
        _interfaces_are_here(experiment)
        _memory_holds(requested, experiment.factor.levels)
    if requested.backend in ("nccl", "mpi") and not _offers(requested.backend):
        raise EnvironmentLacks(
            f"the torch of {sys.executable} has no backend {requested.backend!r}. Measure with --backend gloo, or install a torch built "
            f"with {requested.backend.upper()}{' (a CUDA build)' if requested.backend == 'nccl' else ''}."
        )


def _sums_are_exact(requested: Collectives, ranks: int) -> None:
    """Require data that sum exactly over all ranks; otherwise correct and wrong results are indistinguishable."""
    if requested.dtype in IMPORTED:
        fix = 'Only imported results of other programs can have this type. Write dtype = "float32".'
        raise refuse("collectives.dtype", repr(requested.dtype), f"one of {', '.join(DTYPES)}", fix)
    most = DTYPES[requested.dtype][1] // MIN_SPAN
    if ranks > most:
        raise refuse(
            "collectives.dtype",
            f"{requested.dtype} on {ranks} workers",
            f"at most {most} workers with {requested.dtype}",
            'Sums over more ranks are inexact in it, so data could not be checked. Write dtype = "float32" (--dtype float32).',
        )


def _interfaces_are_here(experiment: Experiment) -> None:
    import psutil

    known = sorted(psutil.net_if_addrs())
    for name in INTERFACES:
        interface = experiment.workload.environment.get(name, "").split(",")[0]
        if name.startswith("GLOO") and interface and interface not in known:
            raise refuse(
                f"workload.environment.{name}",
                repr(interface),
                f"an interface of this machine: {', '.join(known)}",
                "List them with: ip link",
            )


def _memory_holds(requested: Collectives, levels: Sequence[int]) -> None:
    """Check host memory for every rank's input and result: running out would end other programs too."""
    import psutil

    if requested.backend == "nccl":
        return
    total_bytes, largest = psutil.virtual_memory().total, requested.every_size[-1]
    for level in levels:
        required_bytes = level * max(
            elements(cell.op, cell.ranks, cell.count, cell.place) * requested.element_size
            for cell in cells(requested, level)
            if cell.size == largest
        )
        if required_bytes > total_bytes:
            raise refuse(
                "collectives.sizes",
                f"{largest} bytes, for which {level} workers hold {required_bytes / GIB:.0f} GiB",
                f"at most the {total_bytes / GIB:.0f} GiB of this machine",
                "Write smaller sizes, or run on more nodes.",
            )


def _has_torch() -> None:
    if find_spec("torch") is None:
        raise EnvironmentLacks(f"torch, whose collectives are timed, is not installed for {sys.executable}. Install it: pip install torch")


def _offers(backend: str) -> bool:
    """Check in a separate process, so that the measuring process need not import torch."""
    command, environment = isolated.python("-c", _ASK, backend), isolated.environment(os.environ)
    try:
        return subprocess.run(command, timeout=ASK_S, capture_output=True, check=False, env=environment).returncode == 0
    except subprocess.TimeoutExpired:
        return True  # the launch will show


class CollectiveLaunches(Training):
    """Makes the launches of the worker."""

    def make(self, job: Job) -> Made:
        """Run one launch from its start to the end of its last process."""
        request = worker_request(self.context, job, self.context.experiment.collectives_requested, os.environ)
        return LaunchRun(self.context, job, request, self.launcher).run(self.meter)


RUNNER = Runner(name="collectives", check=check, maker=CollectiveLaunches)
