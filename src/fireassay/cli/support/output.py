"""In which format does a verb show its result, and where does the output go?

Every verb has every format: it makes a page, and a writer walks it; JSON is a separate document.  Formats readable in a terminal
go to stdout, a page and a workbook into a file, unless --output says otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.cli.support.screen import coloured, columns, writes_unicode
from fireassay.cli.support.settings import USED, Unasked
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.reports.page import Page
    from fireassay.reports.writers.writer import Writer

WRITERS: Final = "reports.writers"
TERMINAL: Final = "terminal"
JSON: Final = "json"
STDOUT: Final = Path("-")  # as --output


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a verb; each part is made only on demand."""

    name: str  # file name without suffix
    page: Callable[[], Page]
    document: Callable[[], str]  # JSON


def add_formats(parser: argparse.ArgumentParser, *, besides: tuple[str, ...] = (), output: bool = True) -> None:
    """Add --output and a flag per format, except the terminal's and those in `besides`, which the verb declares itself."""
    shape = parser.add_mutually_exclusive_group()
    for name in (JSON, *catalog.names(WRITERS)):
        if name not in (TERMINAL, *besides):
            shape.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=f"output as {name}")
    shape.add_argument("--format", dest="form", metavar="NAME", help="output in a format added by another package")
    add_full(parser)
    parser.set_defaults(form=Unasked(TERMINAL))
    if output:
        parser.add_argument(
            "--output",
            type=Path,
            metavar="PATH",
            help="write to this file, or - for stdout (default: pages and workbooks into the working directory)",
        )


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add --full: text formats otherwise stop after the answer."""
    parser.add_argument("--full", action="store_true", help="show everything, not only the answer (terminal and Markdown)")


def plain_stdout(arguments: argparse.Namespace) -> bool:
    """Whether stdout is for people, so that progress and paths may appear there too."""
    return bool(arguments.form == TERMINAL)


def emit(output: Output, arguments: argparse.Namespace) -> None:
    """Print the output, or write it and say where.

    Raises:
        EnvironmentLacks: the format is not available.
        RecordError: the file cannot be written.
    """
    target: Path | None = getattr(arguments, "output", None)
    form = form_of(target) if arguments.form == TERMINAL else str(arguments.form)
    writer = None if form == JSON else catalog.load(WRITERS, form)
    if target is None and writer is not None and not writer.streams:
        target = Path(f"{output.name}{writer.suffix}")
    if target is None or target == STDOUT:
        printed(output.document() if writer is None else shown(writer, asked_page(output.page(), arguments)))
        return
    write(target, output.document() if writer is None else writer.write(asked_page(output.page(), arguments)))
    say(target)
    opened(target)


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


def write(path: Path, content: str | bytes, *, append: bool = False) -> None:
    """Write a file, creating its folder if needed.

    Raises:
        RecordError: the file cannot be written.
    """
    from fireassay.errors import RecordError
    from fireassay.record import files

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_output(path, content if isinstance(content, bytes) else content.encode(), append=append)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}. Choose another path with --output.") from error
