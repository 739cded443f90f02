"""`assay profile`: what takes the time inside a few training steps?"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, emit
from fireassay.cli.support.verb import Verb, add_root

if TYPE_CHECKING:
    from fireassay.runners.experiment.progress import RunProgress
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.flags.of_verb import KeyFlag

NOTHING_KEPT = 4  # exit code: no step was kept


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the window."""
    from fireassay.cli.verbs.run import add_display_flags
    from fireassay.spec.flags.experiment import add_flags
    from fireassay.spec.flags.of_verb import declare

    window, others = _flags()
    add_flags(parser, others)
    declare(parser, window)
    add_root(parser, "where the record is made (default: records)")
    add_display_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.errors import WorkloadError
    from fireassay.record.arrow_import import without_pandas
    from fireassay.runners.experiment.script import refuse_secrets

    without_pandas()
    experiment, folder = _requested(arguments)
    refuse_secrets(experiment)
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
            tell_what_is_left(created[0], arguments)
        raise
    return shown(path, arguments)


def tell_what_is_left(path: Path, arguments: argparse.Namespace) -> None:
    """Show the profiles completed before the failure; the failure itself is reported last."""
    from fireassay.errors import AssayError

    with suppress(AssayError, OSError):
        if kept(profile := profile_of(path)):
            emit(output(profile), arguments)


def shown(path: Path, arguments: argparse.Namespace) -> int:
    """Show a record's profiles; returns the exit code."""
    profile = profile_of(path)
    emit(output(profile), arguments)
    return 0 if kept(profile) else NOTHING_KEPT


def output(profile: dict[str, Any]) -> Output:
    """The summary, as a page and as JSON."""
    from fireassay.reports.pages.profile import page

    return Output(name="profile", page=lambda: page(profile), document=lambda: json.dumps(profile, indent=2))


def _flags() -> tuple[list[KeyFlag], list[KeyFlag]]:
    """The verb's flags: those of the window, and those that change the profiled launch."""
    from fireassay.spec.flags.of_verb import flags_of

    window = [item for item in flags_of("profile") if item.path.startswith("profile.")]
    return window, [item for item in flags_of("profile") if item not in window]


def _requested(arguments: argparse.Namespace) -> tuple[Experiment, Path]:
    """The experiment with profiled launches and no others; one worker unless the flags say otherwise."""
    from fireassay.cli.verbs.run import stored
    from fireassay.spec.flags.experiment import experiment_from
    from fireassay.spec.flags.of_verb import as_flag, experiment_of, given, put_all

    if arguments.key_workers is None and arguments.experiment is None:
        arguments.key_workers = "1"
    window, others = _flags()
    experiment, folder = experiment_from(arguments, others, stored=stored(arguments.experiment, arguments.root))
    data = {**experiment.model_dump(by_alias=True), "profile": {"only": True}, "faults": ()}
    problems = put_all(data, given(arguments, window))
    return experiment_of(data, problems, lambda problem: as_flag(problem, window), folder), folder


def profile_of(path: Path) -> dict[str, Any]:
    """A record's profiled launches: their summaries, and each rank's report of its window."""
    from fireassay.frames.record_data import from_record
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from
    from fireassay.record.unsealed import launch_name
    from fireassay.reports.pages.profile import of_record

    with judged_from(path):
        launches = of_record(from_record(open_record(path)))
    return {
        "record": str(path),
        "launches": [{**launch, "folder": str(path / "traces" / launch_name(launch["launch"]))} for launch in launches],
    }


def kept(profile: dict[str, Any]) -> bool:
    """Whether any step was kept."""
    return any(
        any(window["kept"] for window in launch["windows"]) or any(part.get("file") for part in launch["nsys"])
        for launch in profile["launches"]
    )


VERB = Verb(
    name="profile",
    group="measure",
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
)
