"""`assay report`: what does a record say, as a terminal page, HTML, Markdown, JSON or a workbook?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from fireassay import catalog
from fireassay.cli.support.output import JSON, STDOUT, WRITERS, add_full, form_of, known_plug_in, opened, printed, write
from fireassay.cli.support.settings import USED
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.exit_codes import EXIT_OF_STATUS, VERDICTS
from fireassay.printable import say
from fireassay.record.lookup import resolve

PAGES: Final = "reports.pages"
RECORD: Final = "record"  # the default page


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", nargs="?", default="latest", metavar="RECORD", help=f"{A_RECORD} (default: latest)")
    for name in (JSON, *catalog.names(WRITERS), *(page for page in catalog.names(PAGES) if page != RECORD)):
        parser.add_argument(f"--{name}", dest="formats", action="append_const", const=name, help=f"the {name} report")
    parser.add_argument(
        "--format", dest="formats", action="append", metavar="NAME", help="a format or page by name, for those added by other packages"
    )
    parser.add_argument(
        "--page", default=RECORD, metavar="NAME", help=f"the page to show: {', '.join(catalog.names(PAGES))} (default: record)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="write to this file or folder, or - for stdout (default: terminal, Markdown and JSON to stdout, others into RECORD/reports)",
    )
    add_full(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.lookup import ended_job, suit_threads

    path = ended_job(resolve(arguments.record, arguments.root))
    suit_threads(path)  # before the pages below import Polars
    from fireassay.cli.support.judged import judged, report, write_inside

    names = arguments.formats or [_unasked(arguments.output)]
    for name in names:
        known_plug_in("--format", name, PAGES, WRITERS, besides=(JSON,))
    known_plug_in("--page", arguments.page, PAGES)
    reports = [report(name, arguments.page, full=arguments.full) for name in dict.fromkeys(names)]
    streams = arguments.output == STDOUT or (arguments.output is None and any(item.streams for item in reports))
    where = sys.stderr if streams else sys.stdout  # a path would spoil JSON on stdout
    view, status = judged(path)
    for item in reports:
        if arguments.output == STDOUT or (arguments.output is None and item.streams):
            printed(item.content(view, True))
            continue
        if arguments.output is None:
            target = write_inside(item, view, path)
        else:
            target = arguments.output
            target = target / item.file if len(reports) > 1 or target.is_dir() else target
            write(target, item.content(view, False))
        say(target, file=where)
        opened(target)
    return EXIT_OF_STATUS[status]


def _unasked(output: Path | None) -> str:
    """The format if no flag names one: that of the file's name, else the user's own default."""
    return USED.get().format if output is None else form_of(output)


VERB = Verb(
    name="report",
    group="judge",
    call="fireassay.open",
    summary="show a record: terminal, HTML, Excel, LaTeX, Markdown, JSON",
    front=7,
    description="""Judge a record and show it. Works at any time, from the record alone, without torch.

    assay report                         the terminal report of the newest record in ./records
    assay report RECORD --html           writes RECORD/reports/report.html and prints its path
    assay report RECORD --json           the documented JSON on stdout
    assay report RECORD --excel --output numbers.xlsx

The exit code is the verdict's: 0 PASS, 9 NO GAIN, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"formats": ("--html", "--markdown", "--excel", "--json"), "page": ("--page", "--output")},
    exits=VERDICTS,
    tables=True,
)
