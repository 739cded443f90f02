"""`assay report`: what does a record say, as a terminal page, HTML, Markdown, JSON or a workbook?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.cli.support import threads
from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import JSON, STDOUT, WRITERS, Output, add_full, emit, form_of, opened, plain_stdout, printed, shown, write
from fireassay.cli.support.settings import USED
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.exit_codes import NO_GAIN
from fireassay.printable import say, shell_word

if TYPE_CHECKING:
    from fireassay.reports.view import View
    from fireassay.verdict.types import Status

EXIT_OF_STATUS = {"PASS": 0, "NO_GAIN": NO_GAIN, "FAIL": 1, "INVALID": 3, "INCONCLUSIVE": 4, "NOT_MEASURED": 4}
VERDICTS = {code: status for status, code in EXIT_OF_STATUS.items() if status != "NOT_MEASURED"}  # for the help of verbs that judge
WITHOUT_NO_GAIN = {code: status for code, status in VERDICTS.items() if code != NO_GAIN}  # only trainings keep a base
PAGES: Final = "reports.pages"
RECORD: Final = "record"  # the default page


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", metavar="RECORD", help=A_RECORD)
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


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One report: its file name, whether it goes to stdout by default, and its content."""

    file: str
    streams: bool
    content: Callable[[View, bool], str | bytes]  # the flag: whether stdout shows it


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record.arrow_import import without_pandas
    from fireassay.record.lookup import resolve

    without_pandas()
    path = resolve(arguments.record, arguments.root)
    threads.suited_to(path)  # before the pages below import Polars
    reports = [
        _report(name, arguments.page, full=arguments.full) for name in dict.fromkeys(arguments.formats or [_unasked(arguments.output)])
    ]
    streams = arguments.output == STDOUT or (arguments.output is None and any(shown_report.streams for shown_report in reports))
    where = sys.stderr if streams else sys.stdout  # a path would spoil JSON on stdout
    view, status = judged(path)
    for shown_report in reports:
        if arguments.output == STDOUT or (arguments.output is None and shown_report.streams):
            printed(shown_report.content(view, True))
        elif arguments.output is None:
            written = write_inside(shown_report, view, path)
            say(written, file=where)
            opened(written)
        else:
            target = arguments.output
            target = target / shown_report.file if len(reports) > 1 or target.is_dir() else target
            write(target, shown_report.content(view, False))
            say(target, file=where)
            opened(target)
    return EXIT_OF_STATUS[status]


def _unasked(output: Path | None) -> str:
    """The format if no flag names one: that of the file's name, else the user's own default."""
    return USED.get().format if output is None else form_of(output)


def _report(name: str, page: str, *, full: bool = False) -> Shown:
    """A format of the requested page, or a page in its own format."""
    if name == JSON:
        return Shown(file="report.json", streams=True, content=lambda view, _: document(view))
    chosen, writer_name = page, name
    if name in (*catalog.names(PAGES), *catalog.third_party(PAGES)):
        chosen, writer_name = name, catalog.load(PAGES, name).writer
    page_spec, writer = catalog.load(PAGES, chosen), catalog.load(WRITERS, writer_name)
    stem = "report" if chosen == RECORD else f"report-{chosen}"

    def content(view: View, screen: bool) -> str | bytes:
        made = replace(page_spec.page(view), full=full or chosen != RECORD)  # the other pages have no short form
        return shown(writer, made) if screen else writer.write(made)

    return Shown(
        file=f"{stem}{writer.suffix}",
        streams=writer.streams and writer_name == name,  # a page with its own flag has its own file
        content=content,
    )


def document(view: View) -> str:
    """The record as JSON."""
    from fireassay.reports.documents.record import render

    return render(view)


def judged(path: Path) -> tuple[View, Status]:
    """Open and judge a record and build its view; prints and writes nothing."""
    threads.suited_to(path)
    from fireassay.cli.support.lean.scipy_special import import_special
    from fireassay.frames.record_data import from_record
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from
    from fireassay.reports.build_view import build
    from fireassay.verdict.judge import judge

    import_special()
    with judged_from(path), bar("judging") as advance:
        measured = from_record(open_record(path))
        judgement = judge(measured, advance)
        return build(measured, judgement), judgement.verdict.status


def judge_and_show(path: Path, arguments: argparse.Namespace) -> int:
    """After a run: show the report, write the HTML page, print its path, return the exit code."""
    try:
        return _judge_and_show(path, arguments)
    except KeyboardInterrupt:
        say(f"assay: interrupted; the record is kept. Judge it with: assay report {shell_word(path)}", file=sys.stderr)
        return 130


def _judge_and_show(path: Path, arguments: argparse.Namespace) -> int:
    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    view, status = judged(path)
    page = catalog.load(PAGES, RECORD).page
    emit(Output(name="report", page=lambda: page(view), document=lambda: document(view)), arguments)
    say(f"report: {write_inside(_report('html', RECORD), view, path)}", file=where)
    say(f"record: {path}", file=where)
    return EXIT_OF_STATUS[status]


def write_inside(report: Shown, view: View, record: Path) -> Path:
    """Write one report into the record's `reports` folder, following no symbolic link; returns the file's path.

    Raises:
        RecordError: the file cannot be written.
    """
    from fireassay.errors import RecordError
    from fireassay.record.untrusted import paths

    name = f"reports/{report.file}"
    content = report.content(view, False)
    try:
        return paths.write(record, name, content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise RecordError(f"cannot write {record / name}: {error.strerror}. Choose another path with --output.") from error


VERB = Verb(
    name="report",
    group="judge",
    summary="judge a record again and show it: terminal, HTML, Markdown, JSON, Excel",
    description="""Judge a record and show it. Works at any time, from the record alone, without torch.

    assay report latest                  the terminal report of the newest record in ./records
    assay report RECORD --html           writes RECORD/reports/report.html and prints its path
    assay report RECORD --json           the documented JSON on stdout
    assay report RECORD --excel --output numbers.xlsx

The exit code is the verdict's: 0 PASS, 9 NO GAIN, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"formats": ("--html", "--markdown", "--excel", "--json"), "output": ("--page", "--output")},
    exits=VERDICTS,
)
