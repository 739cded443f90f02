"""How does a program time collectives, test a fleet, profile a training or simulate a cluster?  It gets the record.

The code of `assay comm`, `fleet`, `profile` and `simulate`: each flag is an argument, with underscores. Nothing is printed, and nothing is asked.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.api.experiment_run import Progress
from fireassay.api.jobs.cluster import cluster_of
from fireassay.api.measuring import measured, texts_of, unknown
from fireassay.api.record import ROOT, Record
from fireassay.errors import Problem, refuse_any
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.flags import comm as collectives
from fireassay.spec.flags import fleet as nodes
from fireassay.spec.flags import profile as steps
from fireassay.spec.flags import simulate as simulated

NUMBERS: Final = ("nodes", "slowdown")  # without a value of their own


def comm(*, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Time collectives between workers, check their data, and return the sealed record.

    >>> import fireassay
    >>> fireassay.comm(workers=[2, 4], size="1K:1M")
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.comm: size: found '1K:1M'; allowed: a flag of `assay comm`. Did you mean sizes?

    Args:
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay comm`: workers=[2, 4], ops=["all_reduce"], sizes="1K:256M", launches=5, interface="eth0".

    Raises:
        SpecError: every wrong argument at once. Others as `run`.
    """
    texts = texts_of("comm", flags, others=("interface",))
    experiment = collectives.experiment_from(argparse.Namespace(interface=flags.get("interface"), **texts))
    with collectives.under_flags():
        return measured(experiment, Path(), root, on_progress)


def fleet(*, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Test every node and link of a cluster and return the sealed record, which names the slow ones.

    >>> import fireassay
    >>> fireassay.fleet(hosts="nodes.txt", launcher="slurm")
    Traceback (most recent call last):
    fireassay.errors.SpecError: --hosts: found both --hosts and --launcher; allowed: one of them.

    Args:
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay fleet`: hosts="nodes.txt", tests=["matrix", "bandwidth"], rounds=7, find=0.05. launcher="slurm", nodes=4.

    Raises:
        SpecError: a wrong argument, or a file of hosts that cannot be read. Others as `run`.
    """
    given = _namespace("fleet", nodes.DEFAULTS, flags)
    given.hosts = None if given.hosts is None else Path(given.hosts)
    return measured(nodes.experiment_from(given), Path(), root, on_progress)


def profile(*command: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Run a training script once with a profiler over a few steps and return the record with its traces.

    >>> import fireassay
    >>> fireassay.profile("train.py", activ=3)
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.profile: activ: found 3; allowed: a flag of `assay profile`. Did you mean active?

    Args:
        command: the script and its arguments.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay profile`: workers=2, wait=5, warm_up=2, active=3, tool="torch".

    Raises:
        SpecError: every wrong argument at once. Others as `run`.
    """
    given = argparse.Namespace(experiment=None, after_dashes=command, **texts_of("profile", flags))
    experiment, folder = steps.experiment_from(given)
    experiment = steps.profiled(experiment, folder, given)
    refuse_secrets(experiment)
    return measured(experiment, folder, root, on_progress)


def simulate(*, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Simulate a training on a known cluster and return the sealed record, which is INVALID as a measurement.

    >>> import fireassay
    >>> record = fireassay.simulate(workers=[1, 2], step_time=0.2, serial=0.05, launches=3)
    >>> record.state, record.judge().status
    ('complete', 'INVALID')

    Args:
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay simulate`: workers=[1, 2, 4], step_time=0.2, serial=0.05, alpha="20us", gbps=100.0, weak=True.

    Raises:
        SpecError: every wrong argument at once. Others as `run`.
    """
    _, experiment = cluster_of(_namespace("simulate", simulated.DEFAULTS, flags))
    return measured(experiment, None, root, on_progress)


def _namespace(verb: str, defaults: Mapping[str, Any], flags: Mapping[str, object]) -> argparse.Namespace:
    """What the parser of the verb would make of the arguments. Raises SpecError: every one that is no flag, or of another type."""
    problems = [unknown(verb, name, value, tuple(defaults)) for name, value in flags.items() if name not in defaults]
    texts = {name: _as(defaults[name], value) for name, value in flags.items() if name in defaults}
    for name, value in texts.items():
        kind = type(defaults[name]) if isinstance(defaults[name], int | float) else int | float if name in NUMBERS else object
        if not isinstance(value, kind):
            problems.append(Problem(where=name, found=repr(value), allowed=f"a value like {defaults[name] or 2!r}"))
    refuse_any(problems, f"the arguments of fireassay.{verb}")
    return argparse.Namespace(**{**defaults, **texts})


def _as(default: object, value: object) -> object:
    """A whole number where any is allowed; text, with commas between the items of a list, where the flag is text."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, str) and value is not None:
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return value
