"""`assay attach`: how is a run watched until its end, or stopped, from another terminal?"""

from __future__ import annotations

import argparse
import sys

from fireassay.cli.support.output import add_formats
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.errors import Interrupted, WorkloadError
from fireassay.exit_codes import VERDICTS
from fireassay.printable import say, shell_word
from fireassay.record.lookup import resolve


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    parser.add_argument("--stop", action="store_true", help="end the run as Ctrl-C would: what was measured is kept")
    add_root(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.jobs import running
    from fireassay.cli.support.judged import judge_and_show, only_profiled, show_profiles
    from fireassay.cli.support.progress import display

    path = resolve(arguments.record, arguments.root)
    name = shell_word(path)
    if arguments.stop and running.look(path)[0].alive:
        running.stop(path)
    try:
        with display(sys.stderr, quiet=arguments.quiet) as show:
            ended = running.follow(path, show)
    except KeyboardInterrupt:
        say(f"assay: detached; the run goes on. Stop it: assay attach {name} --stop", file=sys.stderr)
        return 130
    if ended.state == running.SILENT:
        raise Interrupted(f"no sign of life from process {ended.pid} on {ended.host}. If it has ended: assay resume {name}")
    if ended.state == "interrupted":
        raise Interrupted(f"{ended.reason}; measured data are kept. Continue with:\n\n    assay resume {name}")
    if ended.state == "failed":
        raise WorkloadError(f"{ended.reason}\nOutput kept: {path}")
    return show_profiles(path, arguments) if only_profiled(path) else judge_and_show(path, arguments)


VERB = Verb(
    name="attach",
    group="records",
    call="fireassay.api.jobs.running.follow",
    summary="watch a run until its end, or stop it, from any terminal",
    description="""Show the progress of a run until it ends, then its verdict, with the exit code of the run.

    assay attach                 # the latest record below ./records
    assay attach RECORD --stop   # end it, keep what was measured, leave nothing in a queue

The run may have been started with --detach, in another terminal, or on another host that shares the folder.
Ctrl-C leaves the run alone.""",
    add_arguments=_add_arguments,
    run=_run,
    exits=VERDICTS,
    tables=True,
)
