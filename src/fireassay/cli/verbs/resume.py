"""`assay resume`: how does an interrupted experiment continue without repeating a finished launch?"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import add_formats
from fireassay.cli.support.trust import add_trust, allow
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.errors import AssayError, WorkloadError
from fireassay.exit_codes import VERDICTS
from fireassay.record.lookup import resolve


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    add_root(parser)
    parser.add_argument("--force", action="store_true", help="continue even if the script or the experiment has changed")
    add_trust(parser)
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.experiment_run import recorded, resume
    from fireassay.cli.support.judged import judge_and_show, only_profiled, show_profiles, show_what_is_left
    from fireassay.cli.support.progress import display

    path = resolve(arguments.record, arguments.root)
    allow(path, *recorded(path), arguments)
    try:
        with display(sys.stderr, quiet=arguments.quiet, tables=True) as show:
            resume(path, force=arguments.force, trusted=True, on_progress=show)
    except WorkloadError:  # the script failed again, perhaps long after its window
        with suppress(AssayError, OSError):
            if only_profiled(path):
                show_what_is_left(path, arguments)
        raise
    return show_profiles(path, arguments) if only_profiled(path) else judge_and_show(path, arguments)


VERB = Verb(
    name="resume",
    group="records",
    call="fireassay.api.experiment_run.resume",
    summary="continue an interrupted record without repeating a finished launch",
    description="""Continue an interrupted record: make every unfinished launch, then seal and judge the record.

    assay resume latest
    assay resume records/digits-20261120T101500Z-1a2b3c

A launch that was running when the experiment was interrupted stays in the record as aborted, and is repeated.
Its leftover processes are ended first. A changed script or experiment is refused, unless --force is given.""",
    add_arguments=_add_arguments,
    run=_run,
    exits=VERDICTS,
    tables=True,
)
