"""How does a program measure?  It runs an experiment, or puts a load on an engine, and gets the record.

The code of `assay run` and `assay load`. Nothing is printed. Ctrl-C raises `fireassay.errors.Interrupted` and keeps what was
measured; `assay resume` continues.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.api.flags import texts_of
from fireassay.api.record import ROOT, Record, remarks_as_warnings
from fireassay.errors import Problem
from fireassay.spec.experiment import Experiment

if TYPE_CHECKING:
    from fireassay.runners.experiment.progress import RunProgress

    Progress = Callable[[RunProgress], None]

GOODPUT = "goodput"  # the flag of `assay load` that is no key


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment of a TOML file, to look at, to change or to run.

    >>> import fireassay
    >>> fireassay.read_experiment("records/digits/experiment.toml").factor.levels
    (1, 2)

    Raises:
        SpecError: it cannot be read or is no valid experiment: all problems at once.
    """
    from fireassay.spec.load import read

    return read(os.fspath(path))


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] = ROOT,
    on_progress: Progress | None = None,
) -> Record:
    """Run an experiment and return its sealed record.

    >>> import fireassay
    >>> CLUSTER = ("step_s=0.2", "steps=12", "serial=0.05", "alpha_s=2e-5", "beta_s=8e-10", "gradient=1e8")
    >>> experiment = fireassay.Experiment(
    ...     name="simulated",
    ...     workload={"runner": "simulated", "script": "cluster", "arguments": CLUSTER, "attach": False},
    ...     factor={"levels": (1, 2)},
    ...     noise={"sentinel_s": 0.0},
    ... )
    >>> record = fireassay.run(experiment)
    >>> record.state, record.metric("step_time", workers=1).unit
    ('complete', 's')

    Args:
        experiment: what to run, or the path of its TOML file.
        folder: what the script is relative to; default: the working directory, or the file's folder.
        root: where the record is made.
        on_progress: called several times a second.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded; the record says why.
        Interrupted: stopped by a signal; what was measured is kept.
        RecordError: the record can no longer be written; its content so far stays readable.
    """
    if not isinstance(experiment, Experiment):
        from fireassay.spec.load import load as checked

        folder = Path(experiment).parent if folder is None else folder
        experiment = checked(os.fspath(experiment))
    return measured(experiment, None if folder is None else Path(folder), root, on_progress)


def load(*urls: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Put a load on a serving engine and return its sealed record.

    >>> import fireassay
    >>> fireassay.load("http://localhost:8000", model="tiny", concurency=[1, 8])
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.load: concurency: found [1, 8]; allowed: a flag ...

    Args:
        urls: where the server listens; several are replicas of one engine.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay load`: model="M", concurrency=[1, 8], slo="ttft=0.2,tpot=0.05", duration="30s".

    Raises:
        SpecError: every wrong argument at once. Others as `run`.
    """
    from fireassay.spec.flags.load import experiment_from

    return measured(experiment_from(_namespace(urls, flags)), Path(), root, on_progress)


def measured(experiment: Experiment, folder: Path | None, root: str | os.PathLike[str], on_progress: Progress | None) -> Record:
    """Run it as the verbs do; a path in it is relative to `folder`."""
    from fireassay.cli.support.experiment_run import run as execute
    from fireassay.cli.support.rate_search import ranged

    with remarks_as_warnings():
        experiment = ranged(experiment, folder or Path(), Path(root), on_progress)
        return Record(execute(experiment, folder=folder, root=Path(root), on_progress=on_progress))


def _namespace(urls: tuple[str, ...], flags: Mapping[str, object]) -> argparse.Namespace:
    """What the parser of `assay load` would make of the arguments."""
    missing = () if urls else (Problem("urls", "nothing", "http://HOST:PORT or https://HOST:PORT"),)
    texts = texts_of("load", flags, missing, others=(GOODPUT,))
    return argparse.Namespace(urls=list(urls), goodput=_switch(flags.get(GOODPUT)), **texts)


def _switch(value: object) -> str | None:
    """--goodput as text: without objectives if True."""
    return None if value is None or value is False else "" if value is True else str(value)
