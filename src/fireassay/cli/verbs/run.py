"""`assay run`: what does this experiment measure, and what is the verdict?"""

from __future__ import annotations

import argparse

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import add_formats
from fireassay.cli.support.trust import add_trust, allow
from fireassay.cli.support.verb import Verb, add_detect, add_root
from fireassay.exit_codes import VERDICTS
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.flags.experiment import add_flags, experiment_from
from fireassay.spec.flags.of_verb import flags_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the verb."""
    add_flags(parser, flags_of("run"))
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="show the plan, its time and the detectable differences; run nothing")
    add_detect(parser)
    parser.add_argument("--keep-going", action="store_true", help="make all launches, even if the first shows that they cannot answer")
    add_trust(parser)
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.experiment_run import stored
    from fireassay.cli.support.dry_run import refuse_detect, show_dry_run, show_notes

    base = stored(arguments.experiment, arguments.root)
    experiment, folder = experiment_from(arguments, flags_of("run"), stored=base)
    show_notes(experiment)
    refuse_secrets(experiment)  # before any of it is printed
    if arguments.dry_run:
        return show_dry_run(experiment, arguments, folder)
    refuse_detect(arguments)
    if base is not None:
        allow(base.record, experiment, folder, arguments)
    from fireassay.cli.support.progress import run_and_judge

    return run_and_judge(experiment, arguments, folder=folder, tables=True)


VERB = Verb(
    name="run",
    group="measure",
    call="fireassay.run",
    summary="train with 1, 2, 4 workers: is it right, faster, worth it?",
    front=1,
    description="""Run an experiment, seal its record, judge it and show the verdict.

    assay run digits.toml                    an experiment file
    assay run --workers 1,2,4 -- train.py    a script, unchanged
    assay run --quick -- train.py            raw step times in a minute, no verdict
    assay run digits.toml --dry-run          the plan, its time, what it can show
    assay run digits.toml --dry-run --detect 0.02    how many launches show a change of 2 %
    assay run --workers 1,2,4 --launches 5 -- train.py --epochs 3    with arguments of the script
    assay run --workers 1,2,4 -- -m package.train                    a module
    assay run --workers 1,2 --steps 200 --only performance -- train.py   200 steps of a long job
    assay run RECORD --threads 1             the experiment of a record again, one condition changed

{workers}, {seed} and {launch} in the script's arguments and in the values of --env are replaced for every launch.
Ctrl-C ends the running launch cleanly and keeps all measurements; `assay resume RECORD` continues.""",
    add_arguments=add_arguments,
    run=_run,
    usual={
        "measure": ("--workers", "--quick", "--launches", "--budget"),
        "judge": ("--quality-metric", "--margin", "--efficiency", "--required-workers"),
        "plan": ("--dry-run", "--detect"),
    },
    exits=VERDICTS,
    tables=True,
)
