"""`assay history`: how did the gated number develop, from commit to commit?"""

from __future__ import annotations

import argparse
from pathlib import Path

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    help = "where `assay gate --history` kept it: branch:NAME, mlflow:SERVER, a folder, or the address of a store"
    parser.add_argument("where", metavar="WHERE", help=help)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.ci import history
    from fireassay.reports.documents.history import render
    from fireassay.reports.pages.history import kept
    from fireassay.verdict.checking.kept import trend

    lines = history.load(arguments.where, Path.cwd())
    emit(Output(name="history", page=lambda: kept(trend(lines)), document=lambda: render(lines)), arguments)
    return 0


VERB = Verb(
    name="history",
    group="judge",
    summary="how did the gated number develop, from commit to commit?",
    description="""Show the verdicts that gates kept, and whether the number changed its level.

    assay gate origin/main --history branch:assay-history -- python work.py
    assay history branch:assay-history
    assay history branch:assay-history --html

A series holds one workload on one machine: where the hardware or its software differs, another series begins, and the page says in what.
A change of level needs ten gates. --json gives every line, with the digest of its record.""",
    add_arguments=_add_arguments,
    run=_run,
    call="fireassay.api.ci.history.load",
)
