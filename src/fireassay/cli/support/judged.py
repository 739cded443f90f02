"""How is a record judged and shown: by `assay report`, and after a run by every verb that measures?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fireassay import catalog
from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import JSON, WRITERS, Output, emit, plain_stdout, shown
from fireassay.errors import RecordError
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.frames.record_data import from_record
from fireassay.printable import say, shell_word
from fireassay.record.reader import judged_from, open_record
from fireassay.record.untrusted import paths
from fireassay.reports.build_view import build
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Status

PAGES: Final = "reports.pages"
RECORD: Final = "record"  # the default page


@dataclass(frozen=True, kw_only=True)
class Report:
    """One report of a record: its file name, whether it goes to stdout by default, and its content."""

    file: str
    streams: bool
    content: Callable[[View, bool], str | bytes]  # the flag: whether stdout shows it


def report(name: str, page: str = RECORD, *, full: bool = False) -> Report:
    """A format of the requested page, or a page in its own format."""
    if name == JSON:
        return Report(file="report.json", streams=True, content=lambda view, _: document(view))
    chosen, writer_name = page, name
    if name in (*catalog.names(PAGES), *catalog.third_party(PAGES)):
        chosen, writer_name = name, catalog.load(PAGES, name).writer
    page_spec, writer = catalog.load(PAGES, chosen), catalog.load(WRITERS, writer_name)
    stem = "report" if chosen == RECORD else f"report-{chosen}"

    def content(view: View, screen: bool) -> str | bytes:
        made = replace(page_spec.page(view), full=full or chosen != RECORD)  # the other pages have no short form
        return shown(writer, made) if screen else writer.write(made)

    return Report(
        file=f"{stem}{writer.suffix}",
        streams=writer.streams and writer_name == name,  # a page with its own flag has its own file
        content=content,
    )


def document(view: View) -> str:
    """The record as JSON."""
    from fireassay.reports.documents.record import render  # deferred: a page needs none of its classes

    return render(view)


def judged(path: Path) -> tuple[View, Status]:
    """Open and judge a record and build its view; prints and writes nothing."""
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
    say(f"report: {write_inside(report('html'), view, path)}", file=where)
    say(f"record: {path}", file=where)
    return EXIT_OF_STATUS[status]


def write_inside(report: Report, view: View, record: Path) -> Path:
    """Write one report into the record's `reports` folder, following no symbolic link; returns the file's path.

    Raises:
        RecordError: the file cannot be written.
    """
    name = f"reports/{report.file}"
    content = report.content(view, False)
    try:
        return paths.write(record, name, content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise RecordError(f"cannot write {record / name}: {error.strerror}. Choose another path with --output.") from error
