"""`assay profile`: what takes the time inside of a few training steps?"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.support.output import Output, emit, plain_stdout
from assay.cli.support.verb import Verb, add_root

if TYPE_CHECKING:
    from assay.runners.experiment.run import RunProgress
    from assay.spec.experiment import Experiment

NOTHING_KEPT = 4  # exit code: no step was kept
FLAGS = (  # of an experiment's, those that change what a profiled launch is
    "--workers",
    "--seed",
    "--name",
    "--env",
    "--launcher",
    "--threads",
    "--pin",
    "--nodes",
    "--node-rank",
    "--rendezvous-endpoint",
    "--rendezvous-id",
    "--timeout",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the window."""
    from assay.cli.verbs.run import add_display_flags
    from assay.spec.flags.experiment import add_flags

    add_flags(parser, FLAGS)
    parser.add_argument("--wait", type=int, default=5, metavar="N", help="steps before anything is profiled (5)")
    parser.add_argument("--warm-up", type=int, default=2, metavar="N", help="steps then that warm the profiler up (2)")
    parser.add_argument("--active", type=int, default=3, metavar="N", help="steps then that are kept, at most 3 (3)")
    parser.add_argument("--no-memory", action="store_true", help="do not follow allocations: smaller traces")
    parser.add_argument("--tool", default="torch", metavar="NAME", help="torch (torch.profiler) or nsys (Nsight Systems)")
    add_root(parser, "where the record is made (default: records)")
    add_display_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    from assay.cli.support.experiment_run import run
    from assay.cli.support.progress import display
    from assay.errors import WorkloadError
    from assay.record.arrow_import import without_pandas
    from assay.runners.experiment.argument_check import refuse_secrets

    without_pandas()
    experiment, folder = _asked(arguments)
    refuse_secrets(experiment)
    made: list[Path] = []

    def note(progress: RunProgress) -> None:
        made[:] = [progress.record]
        if show is not None:
            show(progress)

    try:
        with display(sys.stdout if plain_stdout(arguments) else sys.stderr, quiet=arguments.quiet) as show:
            path = run(experiment, folder=folder, root=arguments.root, on_progress=note)
    except WorkloadError:  # the script failed, perhaps long after its window
        if made:
            tell_what_is_left(made[0], arguments)
        raise
    return shown(path, arguments)


def tell_what_is_left(path: Path, arguments: argparse.Namespace) -> None:
    """Show what a record's profiled launches left before something failed, which is what is told of in the end."""
    from assay.errors import AssayError

    with suppress(AssayError, OSError):
        if kept(told := profile_of(path)):
            emit(output(told), arguments)


def shown(path: Path, arguments: argparse.Namespace) -> int:
    """Show what a record's profiled launches left; the exit code."""
    told = profile_of(path)
    emit(output(told), arguments)
    return 0 if kept(told) else NOTHING_KEPT


def output(told: dict[str, Any]) -> Output:
    """The summary, as a page and as JSON."""
    from assay.reports.pages.profile import page

    return Output(name="profile", page=lambda: page(told), document=lambda: json.dumps(told, indent=2))


def _asked(arguments: argparse.Namespace) -> tuple[Experiment, Path]:
    """The experiment with profiled launches and no others; one worker unless asked otherwise."""
    from assay.spec.experiment import Experiment
    from assay.spec.flags.experiment import experiment_from

    if arguments.key_workers is None and arguments.experiment is None:
        arguments.key_workers = "1"
    experiment, folder = experiment_from(arguments, getattr(arguments, "after_dashes", ()))
    asked = {
        "wait": arguments.wait,
        "warm_up": arguments.warm_up,
        "active": arguments.active,
        "memory": not arguments.no_memory,
        "tool": arguments.tool,
        "only": True,
    }
    content = experiment.model_dump(by_alias=True)
    return Experiment.model_validate({**content, "profile": asked, "faults": ()}), folder


def profile_of(path: Path) -> dict[str, Any]:
    """What a record's profiled launches left: their summaries, and what each rank said of its window."""
    from assay.frames.record_data import from_record
    from assay.record.reader import judged_from, launch_name, open_record
    from assay.reports.rows.profile import of_record

    with judged_from(path):
        found = of_record(from_record(open_record(path)))
    return {"record": str(path), "launches": [{**one, "folder": str(path / "traces" / launch_name(one["launch"]))} for one in found]}


def kept(told: dict[str, Any]) -> bool:
    """Whether any step was kept."""
    return any(
        any(window["kept"] for window in one["windows"]) or any(part.get("file") for part in one["nsys"]) for one in told["launches"]
    )


VERB = Verb(
    name="profile",
    group="measure",
    summary="profile a few training steps: traces kept in the record, and what they say",
    description="""Run a training script once with a profiler over a few of its steps, keep the traces in a record and say what they show.

    assay profile -- train.py                     5 steps are waited, 2 warm up, 3 are kept
    assay profile --workers 2 --wait 20 -- train.py --lr 0.1
    assay profile --tool nsys -- train.py         by NVIDIA Nsight Systems, if installed

The script needs no change. The profiled launch is never timed: its steps are slower. In an experiment's file the section [profile] adds
such launches to the timed ones, and `assay report` shows what they say.
The exit code is 0 if steps were kept and 4 if the script made too few.""",
    add_arguments=add_arguments,
    run=_run,
)
