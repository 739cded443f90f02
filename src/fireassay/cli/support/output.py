"""In which format does a verb show its result, where does the output go, how wide and in which colours?

Every verb has every format: it makes a page, and a writer walks it; JSON is a separate document.  Formats readable in a terminal
go to stdout, a page and a workbook into a file, unless --output says otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from fireassay import catalog
from fireassay.cli.support.settings import USED, Unasked
from fireassay.errors import RecordError, did_you_mean, refuse
from fireassay.printable import WIDTH, say, window
from fireassay.record import files

if TYPE_CHECKING:
    from fireassay.reports.page import Page
    from fireassay.reports.writers.writer import Writer
    from fireassay.spec.experiment import Experiment

WRITERS: Final = "reports.writers"
TERMINAL: Final = "terminal"
JSON: Final = "json"
MAX_COLUMNS: Final = 100  # longer lines are hard to read
UNFLAGGED: Final = ("badge",)  # by --format badge, or a file's name: one more flag makes every usage line too wide
STDOUT: Final = Path("-")  # as --output


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a verb; each part is made only on demand."""

    name: str  # file name without suffix
    page: Callable[[], Page]
    document: Callable[[], str]  # JSON


def add_formats(parser: argparse.ArgumentParser, *, besides: tuple[str, ...] = ()) -> None:
    """Add --output and a flag per format, except the terminal's and those in `besides`, which the verb declares itself."""
    shape = parser.add_mutually_exclusive_group()
    for name in (JSON, *catalog.names(WRITERS)):
        if name not in (TERMINAL, *UNFLAGGED, *besides):
            shape.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=f"output as {name}")
    shape.add_argument("--format", dest="form", metavar="NAME", help="output in a format added by another package")
    add_full(parser)
    parser.set_defaults(form=Unasked(TERMINAL))
    help = "write to this file, or - for stdout (default: pages and workbooks into the working directory)"
    parser.add_argument("--output", type=Path, metavar="PATH", help=help)


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add --full: text formats otherwise stop after the answer."""
    parser.add_argument("--full", action="store_true", help="show everything, not only the answer (terminal and Markdown)")


def plain_stdout(arguments: argparse.Namespace) -> bool:
    """True if stdout is for people, so that progress and paths may appear there too."""
    return bool(arguments.form == TERMINAL)


def emit(output: Output, arguments: argparse.Namespace) -> None:
    """Print the output, or write it and say where.

    Raises:
        SpecError: there is no such format.
        RecordError: the file cannot be written.
    """
    target: Path | None = getattr(arguments, "output", None)
    form = form_of(target) if arguments.form == TERMINAL else str(arguments.form)
    known_plug_in("--format", form, WRITERS, besides=(JSON,))
    writer = None if form == JSON else catalog.load(WRITERS, form)
    if target is None and writer is not None and not writer.streams:
        target = Path(f"{output.name}{writer.suffix}")
    if target is None or target == STDOUT:
        printed(output.document() if writer is None else shown(writer, asked_page(output.page(), arguments)))
        return
    write(target, output.document() if writer is None else writer.write(asked_page(output.page(), arguments)))
    say(target)
    opened(target)


def in_a_file(arguments: argparse.Namespace) -> bool:
    """True if the output is for a file, so that the screen is free for the answer."""
    form = str(arguments.form)
    return form != TERMINAL and form in catalog.names(WRITERS) and not catalog.load(WRITERS, form).streams and arguments.output != STDOUT


def known_plug_in(flag: str, name: str, *packages: str, besides: tuple[str, ...] = ()) -> None:
    """Raise SpecError unless one of these packages has a plug-in with this name."""
    known = [*besides, *(each for package in packages for each in (*catalog.names(package), *catalog.third_party(package)))]
    if name not in known:
        raise refuse(flag, repr(name), ", ".join(known), did_you_mean(name, known), source="the command line")


def opened(page: Path) -> None:
    """Open a written page in the browser, if the user wants that and is at a terminal."""
    if USED.get().open and page.suffix == ".html" and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def asked_page(page: Page, arguments: argparse.Namespace) -> Page:
    """The page, whole if --full was given."""
    return replace(page, full=bool(getattr(arguments, "full", False)))


def form_of(target: Path | None) -> str:
    """The format implied by a file's name, without a flag."""
    if target is None or not target.suffix:
        return TERMINAL
    writers = catalog.load_all(WRITERS)
    named = {f".{JSON}": JSON, **{writer.suffix: name for name, writer in writers.items()}}
    return named.get(target.suffix, TERMINAL)


def shown(writer: Writer, page: Page) -> str | bytes:
    """The page for stdout, as wide and as coloured as it is to be."""
    if writer.fit is None:
        return writer.write(page)
    return writer.fit(page, width=columns(sys.stdout), colour=coloured(sys.stdout), plain=not writes_unicode(sys.stdout))


def printed(content: str | bytes) -> None:
    """Write to stdout; text ends with a line break."""
    if isinstance(content, bytes):
        sys.stdout.buffer.write(content)
        return
    text = content if content.endswith("\n") else f"{content}\n"
    if not writes_unicode(sys.stdout):  # formats other than the terminal's have no plain form
        text = text.encode("ascii", "replace").decode()
    sys.stdout.write(text)


def print_toml(experiment: Experiment) -> int:
    """Print the experiment as a file for `assay run`; returns the exit code."""
    from fireassay.spec.load import to_toml  # deferred: a verb without an experiment needs no models

    print(to_toml(experiment), end="")
    return 0


def write(path: Path, content: str | bytes, *, append: bool = False) -> None:
    """Write a file, creating its folder if needed. Raises RecordError: the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_output(path, content if isinstance(content, bytes) else content.encode(), append=append)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}. Choose another path with --output.") from error


# ---- the screen ------------------------------------------------------------------------------------------------------


def columns(stream: TextIO) -> int:
    """The width of a report: the user's own; else at most 100 columns."""
    return WIDTH.get() or min(window(stream), MAX_COLUMNS)


def coloured(stream: TextIO) -> bool:
    """True if the output is coloured: as --color says; else on a terminal that can, unless NO_COLOR is set."""
    if (choice := USED.get().color) != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def writes_unicode(stream: TextIO | None) -> bool:
    """True if the stream's encoding has the marks of a report."""
    try:
        "▸┊─".encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
