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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NoReturn

from fireassay.cli.support.settings import COLOURS
from fireassay.printable import printable

Group = Literal["measure", "judge", "records", "instrument"]
A_RECORD: Final = "a record: folder, id or name (its beginning suffices); latest, latest:KIND, latest:NAME"  # in help texts


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line."""

    name: str
    group: Group
    summary: str  # one line, shown by `assay --help`
    description: str  # what it does: a sentence, examples, then the rest; `--help` shows the beginning, `--help-all` everything
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]  # returns the exit code; raises AssayError for known errors
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # group -> its flags that `--help` shows; empty: all
    exits: Mapping[int, str] = field(default_factory=lambda: {0: "done"})  # exit codes in a word; 2 is bad input everywhere


def add_root(parser: argparse.ArgumentParser, where: str = "where records are looked up by name (default: records)") -> None:
    """Add the flag shared by all verbs that make records or take their names."""
    parser.add_argument("--root", type=Path, default=Path("records"), metavar="DIR", help=where)


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags of every verb that it has not declared itself."""
    if "--quiet" not in parser._option_string_actions:
        parser.add_argument("--quiet", action="store_true", help="no progress and no notes; the result and errors remain")
    parser.add_argument("--color", choices=COLOURS, metavar="auto|always|never", help="colour: on a terminal, always or never (auto)")


class Parser(argparse.ArgumentParser):
    """A parser that answers a wrong flag with one sentence and the closest valid flag (exit code 2)."""

    def __init__(self, *, prog: str, description: str, verb: Verb | None = None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, allow_abbrev=False, add_help=False)
        self.verb = verb
        self.add_argument("-h", "--help", action=_Help, nargs=0, dest=argparse.SUPPRESS, help="the flags that most people use")
        self.add_argument("--help-all", action=_Help, nargs=0, dest=argparse.SUPPRESS, help="every flag, with the key that it sets")

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


class _Help(argparse.Action):
    """Prints the help and ends, whatever else is missing."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None) -> None:
        from fireassay.cli.support.help import brief

        verb = getattr(parser, "verb", None)
        print(parser.format_help() if verb is None or option_string == "--help-all" else brief(verb, parser), end="")
        parser.exit()


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
