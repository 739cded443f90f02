"""`assay report`: what does a record say, as a terminal page, HTML, Markdown, JSON or a workbook?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from assay import catalog
from assay.cli.support import threads
from assay.cli.support.output import plain_stdout
from assay.cli.support.verb import Verb, add_root
from assay.printable import say

if TYPE_CHECKING:
    from assay.reports.base import Report
    from assay.reports.view import View
    from assay.verdict.types import Status

EXIT_OF_STATUS = {"PASS": 0, "FAIL": 1, "INVALID": 3, "INCONCLUSIVE": 4, "NOT_MEASURED": 4}
WIDEST = 140  # columns; longer lines are hard to read
STDOUT = Path("-")  # as --output
ON_STDOUT = ("terminal", "markdown", "json")  # unless --output says otherwise


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", metavar="RECORD", help="a record's folder, the unique beginning of its name, or `latest`")
    for name in catalog.names("reports"):
        parser.add_argument(f"--{name}", dest="formats", action="append_const", const=name, help=f"the {name} report")
    parser.add_argument(
        "--format", dest="formats", action="append", metavar="NAME", help="a report by name, for those that other packages add"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="write to this file or folder, - for stdout (default: terminal, Markdown and JSON to stdout, others into RECORD/reports)",
    )
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from assay.cli.support.chart_process import ahead
    from assay.record.arrow_import import without_pandas
    from assay.record.reader import resolve

    without_pandas()
    formats = list(dict.fromkeys(arguments.formats or ["terminal"]))
    shows = arguments.output == STDOUT or (arguments.output is None and any(name in ON_STDOUT for name in formats))
    with ahead("html" in formats):
        view, status = judged(resolve(arguments.record, arguments.root))
        for name in formats:
            _emit(
                catalog.load("reports", name),
                view,
                arguments.output,
                arguments.record,
                arguments.root,
                many=len(formats) > 1,
                told=sys.stderr if shows else sys.stdout,  # a path between the lines would spoil JSON on stdout
            )
    return EXIT_OF_STATUS[status]


def _emit(report: Report, view: View, output: Path | None, record: str, root: Path, *, many: bool, told: TextIO) -> None:
    if output == STDOUT or (output is None and report.name in ON_STDOUT):
        _print(report, view)
        return
    from assay.record.reader import resolve

    if output is None:
        say(write_inside(report, view, resolve(record, root)), file=told)
        return
    say(write(report, view, output, as_folder=many or output.is_dir()), file=told)


def judged(path: Path) -> tuple[View, Status]:
    """Open, judge and lay out a record: nothing is printed or written."""
    threads.suited_to(path)
    from assay.frames.record_data import from_record
    from assay.record.reader import judged_from, open_record
    from assay.reports.view import build
    from assay.verdict.judge import judge

    with judged_from(path):
        measured = from_record(open_record(path))
        judgement = judge(measured)
        return build(measured, judgement), judgement.verdict.status


def judge_and_show(path: Path, arguments: argparse.Namespace, *, html: bool = True) -> int:
    """After a run: show the report, write the HTML page, say where it is, give the exit code."""
    try:
        return _judge_and_show(path, arguments, html=html)
    except KeyboardInterrupt:
        say(f"assay: interrupted; the record is kept. Judge it with: assay report {path}", file=sys.stderr)
        return 130


def _judge_and_show(path: Path, arguments: argparse.Namespace, *, html: bool) -> int:
    from assay.cli.support.chart_process import ahead

    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    with ahead(html):
        view, status = judged(path)
        _print(catalog.load("reports", arguments.form), view)
        if html:
            page = write_inside(catalog.load("reports", "html"), view, path)
            say(f"report: {page}", file=where)
    say(f"record: {path}", file=where)
    return EXIT_OF_STATUS[status]


def write(report: Report, view: View, target: Path, *, as_folder: bool) -> Path:
    """Write one report to a file, or as `report<suffix>` into a folder. Gives the file's path.

    Raises:
        RecordError: the file cannot be written.
    """
    from assay.record import files

    path = target / f"report{report.suffix}" if as_folder else target
    content = _content(report, view)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_output(path, content)
    except OSError as error:
        raise _not_written(path, error) from error
    return path


def write_inside(report: Report, view: View, record: Path) -> Path:
    """Write one report into a record's own folder `reports`, through no link that somebody put there. Gives the file's path.

    Raises:
        RecordError: the file cannot be written.
    """
    from assay.record.untrusted import paths

    name = f"reports/report{report.suffix}"
    content = _content(report, view)
    try:
        return paths.write(record, name, content)
    except OSError as error:
        raise _not_written(record / name, error) from error


def _content(report: Report, view: View) -> bytes:
    content = report.render(view)
    return content if isinstance(content, bytes) else content.encode()


def _not_written(path: Path, error: OSError) -> Exception:
    from assay.errors import RecordError

    return RecordError(f"cannot write {path}: {error.strerror}. Give another place with --output.")


def _print(report: Report, view: View) -> None:
    """On stdout; in colour and in the window's width where that is a terminal."""
    if report.name == "terminal" and sys.stdout.isatty():
        from assay.reports.terminal import render

        width = min(shutil.get_terminal_size().columns, WIDEST)
        sys.stdout.write(render(view, width=width, colour="NO_COLOR" not in os.environ))
        return
    text = report.render(view)
    if isinstance(text, bytes):
        sys.stdout.buffer.write(text)
        return
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


VERB = Verb(
    name="report",
    group="judge",
    summary="judge a record again and show it: terminal, HTML, Markdown, JSON, Excel",
    description="""Judge a record and show it. Works at any later time, from the record alone, without torch.

    assay report latest                  the terminal report of the newest record in ./records
    assay report RECORD --html           writes RECORD/reports/report.html and prints its path
    assay report RECORD --json           the documented JSON on stdout
    assay report RECORD --excel --output numbers.xlsx

The exit code is the verdict's: 0 PASS, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE.""",
    add_arguments=_add_arguments,
    run=_run,
)
