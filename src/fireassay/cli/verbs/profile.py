"""`assay profile`: what takes the time inside a few training steps?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import add_formats
from fireassay.cli.support.trust import add_trust, allow
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import WorkloadError
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.experiment import add_flags
from fireassay.spec.flags.of_verb import declare
from fireassay.spec.flags.profile import experiment_from, profiled, window_and_others

if TYPE_CHECKING:
    from fireassay.runners.experiment.progress import RunProgress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the window."""
    window, others = window_and_others()
    add_flags(parser, others)
    declare(parser, window)
    add_root(parser, "where the record is made (default: records)")
    add_trust(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    experiment, folder = _requested(arguments)
    refuse_secrets(experiment)
    from fireassay.api.experiment_run import run
    from fireassay.cli.support.judged import show_profiles, show_what_is_left
    from fireassay.cli.support.progress import display

    created: list[Path] = []

    def note(progress: RunProgress) -> None:
        created[:] = [progress.record]
        if show is not None:
            show(progress)

    try:
        with display(sys.stderr, quiet=arguments.quiet) as show:
            path = run(experiment, folder=folder, root=arguments.root, on_progress=note)
    except WorkloadError:  # the script failed, perhaps long after its window
        if created:
            show_what_is_left(created[0], arguments)
        raise
    return show_profiles(path, arguments)


def _requested(arguments: argparse.Namespace) -> tuple[Experiment, Path]:
    """The experiment with profiled launches and no others; one worker unless the flags say otherwise."""
    from fireassay.api.experiment_run import stored

    base = stored(arguments.experiment, arguments.root)
    experiment, folder = experiment_from(arguments, base)
    if base is not None:
        allow(base.record, experiment, folder, arguments)
    return profiled(experiment, folder, arguments), folder


VERB = Verb(
    name="profile",
    group="measure",
    call="fireassay.profile",
    summary="profile a few training steps: traces in the record, and a summary",
    description="""Run a training script once with a profiler over a few of its steps, keep the traces in a record and summarise them.

    assay profile -- train.py                     skips 5 steps, warms up for 2, keeps 3
    assay profile --workers 2 --wait 20 -- train.py --lr 0.1
    assay profile --tool nsys -- train.py         with NVIDIA Nsight Systems, if installed

The script needs no change. The profiled launch is never timed: its steps are slower. In an experiment file, the section [profile] adds
such launches to the timed ones, and `assay report` summarises them.
The exit code is 0 if steps were kept and 4 if the script made too few.""",
    add_arguments=add_arguments,
    run=_run,
    usual={"measure": ("--workers", "--wait", "--warm-up", "--active"), "trace": ("--tool", "--no-memory")},
    exits={0: "steps kept", 4: "too few steps"},
    tables=True,
)
