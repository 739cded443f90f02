"""`assay export`: how does another program read a record?"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.printable import say
from fireassay.record.lookup import resolve

BEFORE: Final = ("genai-bench", "assay-score")  # that had flags of their own, which still work


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("--to", metavar="NAME", help="the program or the form; `assay export --to list` names all")
    for name in BEFORE:
        to.add_argument(f"--{name}", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument(
        "--out", default="", metavar="DEST", help="folder, file or address; {record} in it is the record's name (default: the target's own)"
    )
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of the target; a wrong name lists them")
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.exporting import check, export, summaries
    from fireassay.api.lookup import suit_threads

    if arguments.to == "list":
        for name, summary in summaries().items():
            say(f"{name:<14}{summary}")
        return 0
    name, out = next(
        ((name, str(to)) for name in BEFORE if (to := getattr(arguments, name.replace("-", "_")))), (arguments.to, arguments.out)
    )
    check(name, out, arguments.option)  # before the record is judged
    path = resolve(arguments.record, arguments.root)
    suit_threads(path)
    from fireassay.api.sides import judged, opened
    from fireassay.reports.build_view import build

    side = judged(path, opened(path))
    sent = export(build(side.measured, side.judgement), path, name, out, arguments.option)
    for note in (*sent.notes, *(() if sent.new else ("it was there already, and nothing was changed.",))):
        say(f"note: {note}", file=sys.stderr)
    say(sent.where)
    return 0


VERB = Verb(
    name="export",
    group="records",
    call="fireassay.api.exporting.export",
    summary="write or send a record for another program",
    description="""Write or send what a record holds in the form of another program.

    assay export --to list                                what there is
    assay export RECORD --to prometheus --out /var/lib/node_exporter
    assay export RECORD --to csv --out folder

Every value goes with its interval, its verdict and the record's digest (SHA-256 of its seal); of an INVALID record, and wherever a
value may not be quoted, the target says so. What was not measured is left out or has no value, never 0. The same record in the
same place a second time changes nothing. `export` in fireassay.toml exports all that a verb sealed (`assay config --help-all`).

    assay export RECORD --to genai-bench --out FOLDER
    genai-bench excel --experiment-folder FOLDER --excel-name report

genai-bench has one run for each scenario and concurrency, so the launches of a configuration are pooled. Its numbers have no intervals:
they, and the verdict, stay in the record. With several engines, FOLDER holds one experiment folder for each.

    assay export RECORD --to assay-score --out FOLDER
    assay score both.csv --ratings long --id item --rater judge --scale 0,1

FOLDER/judgements.csv: what a judge said beside people's labels. Those of two judges in one file are an experiment whose sides, or raters,
are judges.""",
    add_arguments=_add_arguments,
    run=_run,
)
