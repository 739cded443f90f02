"""`assay export`: how does another program read a record?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.cli.support.output import refuse_used, write_folder
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.errors import refuse
from fireassay.printable import say
from fireassay.record.lookup import resolve

if TYPE_CHECKING:
    from fireassay.reports.exports.export import Export

EXPORTS: Final = "reports.exports"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    one = parser.add_mutually_exclusive_group(required=True)
    for name in catalog.names(EXPORTS):
        help = f"write the folder that {name.replace('_', '-')} reads; it must be new or empty"
        one.add_argument(f"--{name.replace('_', '-')}", dest=f"to_{name}", type=Path, metavar="FOLDER", help=help)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.lookup import suit_threads

    path = resolve(arguments.record, arguments.root)
    suit_threads(path)
    name, folder = next((name, to) for name in catalog.names(EXPORTS) if (to := getattr(arguments, f"to_{name}")) is not None)
    export: Export = catalog.load(EXPORTS, name)
    refuse_used(f"--{name.replace('_', '-')}", folder)
    from fireassay.frames.record_data import from_record
    from fireassay.metrics.results import LazyResults
    from fireassay.record.reader import judged_from, open_record
    from fireassay.verdict.judge import judge

    with judged_from(path):
        measured = from_record(open_record(path))
        if measured.kind.name not in export.kinds:
            raise refuse("the record", f"kind {measured.kind.name}", f"kind {' or '.join(export.kinds)}", source="the export")
        exported = export.files(measured, LazyResults(measured))
        status = judge(measured).verdict.status
    write_folder(folder, exported.files)
    void = (f"this record is INVALID, which no file of {export.title} can say: assay report {path.name}.",) if status == "INVALID" else ()
    for note in (*void, *exported.notes):
        say(f"note: {note}", file=sys.stderr)
    say(folder)
    return 0


VERB = Verb(
    name="export",
    group="records",
    summary="write a record for another program: genai-bench, assay score",
    description="""Write what a record holds in the form of another program.

    assay export RECORD --genai-bench FOLDER
    genai-bench excel --experiment-folder FOLDER --excel-name report
    genai-bench plot --experiments-folder FOLDER --group-key traffic_scenario

genai-bench has one run for each scenario and concurrency, so the launches of a configuration are pooled. Its numbers have no intervals:
they, and the verdict, stay in the record. With several engines, FOLDER holds one experiment folder for each.

    assay export RECORD --assay-score FOLDER
    assay score both.csv --ratings long --id item --rater judge --scale 0,1

FOLDER/judgements.csv: what a judge said beside people's labels. Those of two judges in one file are an experiment whose sides, or raters,
are judges.""",
    add_arguments=_add_arguments,
    run=_run,
)
