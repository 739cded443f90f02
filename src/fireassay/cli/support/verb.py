"""What must a verb's file declare?

One file holds one `VERB`; its stem is the verb.  `assay --help` reads `group` and `summary` from the file's text, so the file says
`VERB = Verb(...)` with both as literals.  Heavy imports go inside `run`, so that `assay VERB --help` answers at once.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from fireassay.printable import printable

Group = Literal["measure", "judge", "records", "instrument"]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line."""

    name: str
    group: Group
    summary: str  # one line, shown by `assay --help`
    description: str  # shown by `assay VERB --help`: what it does, with an example
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]  # returns the exit code; raises AssayError for known errors


def add_root(parser: argparse.ArgumentParser, where: str = "where records are looked up by name (default: records)") -> None:
    """Add the flag shared by all verbs that make records or take their names."""
    parser.add_argument("--root", type=Path, default=Path("records"), metavar="DIR", help=where)


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong flag with one sentence and the closest valid flag (exit code 2)."""

    def __init__(self, *, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Report the error, name the closest flag, exit with 2."""
        self.exit(2, printable(f"error: {self.prog}: {message}.{self._closest(message)} See `{self.prog} --help`.\n"))

    def _closest(self, message: str) -> str:
        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        if "-- COMMAND" in (self.usage or "") and (match := re.match(r"unrecognized arguments: (?:--- )?(?!-)(.+)", message)):
            return f" A command follows --, as in: {self.prog} -- {match[1]}."
        for word in re.findall(r"unrecognized arguments: (--[\w-]+)", message):
            close = difflib.get_close_matches(word, flags, n=1)
            return f" Did you mean {close[0]}?" if close else f" Available: {', '.join(flags)}."
        return ""


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs, keeps indented examples, and limits wide windows to 100 columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(_columns(), 100) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = itertools.groupby(text.splitlines(), key=lambda line: not line or line.startswith(" "))
        shown = ["\n".join(lines) if as_it_is else textwrap.fill(" ".join(lines), width) for as_it_is, lines in parts]
        return textwrap.indent("\n".join(shown), indent)


def _columns() -> int:
    value = os.environ.get("COLUMNS", "")
    if value.isdecimal() and int(value) > 0:
        return int(value)
    try:
        return os.get_terminal_size().columns or 80
    except OSError:  # not a terminal
        return 80
