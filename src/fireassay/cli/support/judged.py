"""How is a record judged and shown: by `assay report`, and after a run by every verb that measures?

How are the profiles of a record shown, by `assay profile` and by `assay resume`?
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.api.again import again
from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import JSON, TERMINAL, WRITERS, Output, asked_page, emit, in_a_file, plain_stdout, printed, shown
from fireassay.errors import AssayError, RecordError
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.frames.record_data import from_record
from fireassay.printable import say, shell_word
from fireassay.record.reader import judged_from, open_record
from fireassay.record.unsealed import launch_name
from fireassay.record.untrusted import paths
from fireassay.reports.build_view import build
from fireassay.reports.pages.profile import of_record, page
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
        return replace(build(measured, judgement), again=again(path, measured)), judgement.verdict.status


def judge_and_show(path: Path, arguments: argparse.Namespace) -> int:
    """After a run: show the report (with a format for a file the screen too), write the HTML page, print its path, return the exit code."""
    try:
        return _judge_and_show(path, arguments)
    except KeyboardInterrupt:
        say(f"assay: interrupted; the record is kept. Judge it with: assay report {shell_word(path)}", file=sys.stderr)
        return 130


def _judge_and_show(path: Path, arguments: argparse.Namespace) -> int:
    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    view, status = judged(path)
    page = catalog.load(PAGES, RECORD).page
    if in_a_file(arguments):
        printed(shown(catalog.load(WRITERS, TERMINAL), asked_page(page(view), arguments)))
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


NOTHING_KEPT: Final = 4  # exit code: no step was kept


def show_profiles(path: Path, arguments: argparse.Namespace) -> int:
    """Show a record's profiles; returns the exit code."""
    profile = profile_of(path)
    emit(output(profile), arguments)
    return 0 if kept(profile) else NOTHING_KEPT


def show_what_is_left(path: Path, arguments: argparse.Namespace) -> None:
    """Show the profiles completed before a failure; the failure itself is reported last."""
    with suppress(AssayError, OSError):
        if kept(profile := profile_of(path)):
            emit(output(profile), arguments)


def output(profile: dict[str, Any]) -> Output:
    """The summary, as a page and as JSON."""
    return Output(name="profile", page=lambda: page(profile), document=lambda: json.dumps(profile, indent=2))


def profile_of(path: Path) -> dict[str, Any]:
    """A record's profiled launches: their summaries, and each rank's report of its window."""
    with judged_from(path):
        launches = of_record(from_record(open_record(path)))
    return {
        "record": str(path),
        "launches": [{**launch, "folder": str(path / "traces" / launch_name(launch["launch"]))} for launch in launches],
    }


def kept(profile: dict[str, Any]) -> bool:
    """True if any step was kept."""
    return any(
        launch.get("imported") or any(window["kept"] for window in launch["windows"]) or any(part.get("file") for part in launch["nsys"])
        for launch in profile["launches"]
    )


def only_profiled(path: Path) -> bool:
    """True if the record comes from `assay profile`: it has no timed launches, so there is nothing to judge."""
    profile = open_record(path).experiment.profile
    return profile is not None and profile.only
