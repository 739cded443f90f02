"""`assay status`: how far is a run that another terminal, another host or a batch job makes?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.record.lookup import resolve


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.jobs.running import look
    from fireassay.cli.support.progress import running_words
    from fireassay.reports.documents.run_state import render
    from fireassay.reports.pages.run_state import page

    state, progress = look(resolve(arguments.record, arguments.root))
    if progress is not None and progress.running is not None:
        state = replace(state, now=running_words(progress.running, {}))
    emit(Output(name="status", page=lambda: page(state), document=lambda: render(state)), arguments)
    return 0


VERB = Verb(
    name="status",
    group="records",
    call="fireassay.api.jobs.running.look",
    summary="how far is a run: what runs where, what it waits for, how it ended",
    description="""Show how far a run is: what runs and where, launches done, what it waits for, the time left, its last output, or how it ended.

    assay status                  # the latest record below ./records
    assay status RECORD --json    # for other programs

A run on another host is seen through the shared folder: its process rewrites a heartbeat in the record every two seconds. If that does not
move for eight seconds, the state is `silent`, never `running`.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "shown"},
    tables=True,
)
