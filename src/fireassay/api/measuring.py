"""How does a program measure?  It runs an experiment, or puts a load on an engine, and gets the record.

The code of `assay run` and `assay load`. Nothing is printed. Ctrl-C raises `fireassay.errors.Interrupted` and keeps what was
measured; `assay resume` continues.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fireassay.api import experiment_run
from fireassay.api.experiment_run import Progress
from fireassay.api.record import ROOT, Record, remarks_as_warnings
from fireassay.errors import Problem, refuse_any
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import closest
from fireassay.spec.flags.load import experiment_from
from fireassay.spec.flags.of_verb import KeyFlag, flags_of
from fireassay.spec.load import load as checked
from fireassay.spec.load import read

GOODPUT = "goodput"  # the flag of `assay load` that is no key


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment of a TOML file, to look at, to change or to run.

    >>> import fireassay
    >>> fireassay.read_experiment("records/digits/experiment.toml").factor.levels
    (1, 2)

    Raises:
        SpecError: it cannot be read or is no valid experiment: all problems at once.
    """
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
    return measured(experiment_from(_namespace(urls, flags)), Path(), root, on_progress)


def measured(experiment: Experiment, folder: Path | None, root: str | os.PathLike[str], on_progress: Progress | None) -> Record:
    """Run it as the verbs do; a path in it is relative to `folder`."""
    with remarks_as_warnings():
        experiment = experiment_run.ranged(experiment, folder or Path(), Path(root), on_progress)
        return Record(experiment_run.run(experiment, folder=folder, root=Path(root), on_progress=on_progress))


def _namespace(urls: tuple[str, ...], flags: Mapping[str, object]) -> argparse.Namespace:
    """What the parser of `assay load` would make of the arguments."""
    missing = () if urls else (Problem("urls", "nothing", "http://HOST:PORT or https://HOST:PORT"),)
    texts = texts_of("load", flags, missing, others=(GOODPUT,))
    return argparse.Namespace(urls=list(urls), goodput=_switch(flags.get(GOODPUT)), **texts)


def _switch(value: object) -> str | None:
    """--goodput as text: without objectives if True."""
    return None if value is None or value is False else "" if value is True else str(value)


# ---- arguments of a function as the flags of its verb: text is read and checked as on the command line -----------------


def texts_of(verb: str, flags: Mapping[str, object], problems: Iterable[Problem] = (), *, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """The attributes that the parser of a verb would set; `others`: flags that are no key.

    Raises:
        SpecError: every argument that is no flag, and these problems.
    """
    known = {item.name.lstrip("-").replace("-", "_"): item for item in flags_of(verb)}
    names = (*known, *others)
    every = [*(_unknown(verb, name, value, names) for name, value in flags.items() if name not in names), *problems]
    refuse_any(every, f"the arguments of fireassay.{verb}")
    texts: dict[str, Any] = {item.attribute: None for item in known.values()}
    return texts | {known[name].attribute: _text(known[name], value) for name, value in flags.items() if name in known}


def _unknown(verb: str, name: str, value: object, names: tuple[str, ...]) -> Problem:
    match = closest(name, names)
    fix = f"Did you mean {match}?" if match else f"There are {', '.join(names)}."
    return Problem(where=name, found=repr(value), allowed=f"a flag of `assay {verb}`", fix=fix)


def _text(item: KeyFlag, value: object) -> Any:
    """A value as the flag's text: True for a switch, commas between the items of a list."""
    if isinstance(value, bool) or value is None:
        return None if value is False else value
    if isinstance(value, list | tuple):
        return [str(part) for part in value] if item.flag.many else ",".join(map(str, value))
    return [str(value)] if item.flag.many else str(value)
