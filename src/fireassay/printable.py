"""How is untrusted text shown in a terminal, a page or XML without letting it control them?

A record, a claim file or a script's output may hold anything.  Control characters move the cursor, set a window's title or
hide earlier text; bidirectional overrides (Unicode TR 36, section 3.4) reorder words on display; lone surrogates cannot be
encoded.  Each becomes U+FFFD, so that the replacement is visible.
Cannot tell a name from a look-alike.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from contextvars import ContextVar

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

# The characters that XML 1.0 forbids, the controls between DEL and NBSP, and bidirectional marks.  Those that are allowed, negated,
# would take ten times as long to compile.
_STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with U+FFFD for every control character; line breaks and tabs stay."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def say(text: object, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print as wide as the window, without control characters: the name of a folder, a file or an experiment may be hostile."""
    if REWRITTEN is not None:
        REWRITTEN.clear()
    print(wrapped(printable(str(text)), window(file or sys.stdout)), file=file, flush=flush)


REWRITTEN: Rewritten | None = None  # the line of progress: what is said meanwhile stands above it


class Rewritten:
    """A line of a terminal that is written again and again, and is gone in the end."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self._wide = stream, 0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The only such line during the body."""
        global REWRITTEN
        REWRITTEN = self
        try:
            yield
        finally:
            REWRITTEN = None
            self.clear()

    def show(self, text: str) -> None:
        """Write it, cut where the window ends."""
        cut = one_line(text)[: window(self.stream) - 1]
        self._write(f"\r{cut:<{self._wide}}")
        self._wide = len(cut)

    def clear(self) -> None:
        """Leave the line empty."""
        if self._wide:
            self._write(f"\r{'':<{self._wide}}\r")
            self._wide = 0

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def remark(sentence: str) -> None:
    """Something worth knowing that is not the answer: a line on standard error, or a call of what a program put into `REMARKS`."""
    (REMARKS.get() or _on_stderr)(printable(sentence))


def _on_stderr(sentence: str) -> None:
    say(f"assay: {sentence}", file=sys.stderr)


# ---- the width of a window -------------------------------------------------------------------------------------------

DEFAULT_COLUMNS = 80
WIDTH: ContextVar[int | None] = ContextVar("width", default=None)  # the user's own
_SOURCE = re.compile(r" *\d+ \| ")  # a quoted line of a file; below it stands an underline
_HEAD = re.compile(r" +\| *\^+ | +")


def window(stream: TextIO) -> int:
    """The width of what is written to a stream: the user's own; else the terminal's, else $COLUMNS, else 80."""
    if (own := WIDTH.get()) is not None:
        return own
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # closed, or without a number
        width = 0
    variable = os.environ.get("COLUMNS", "")
    return width or (int(variable) if variable.isdecimal() and int(variable) > 0 else DEFAULT_COLUMNS)


def wrapped(text: str, width: int) -> str:
    """The text with no line wider than this, except for words that are, quoted lines of files and commands in back quotes."""
    if all(len(line) <= width for line in text.split("\n")):
        return text
    return "\n".join(line if len(line) <= width else _filled(line, width) for line in text.split("\n"))


def _filled(line: str, width: int) -> str:
    from textwrap import fill  # deferred: most that is said is short

    if _SOURCE.match(line):
        return line
    if line.lstrip().startswith("assay "):
        return command(line, width)
    head = found[0] if (found := _HEAD.match(line)) else ""
    indent = f"{head.partition('^')[0] if '^' in head else head}{'  ' if head else ''}"
    kept = re.sub(
        "`[^`]*`", lambda quoted: quoted[0].replace(" ", "\0") if len(quoted[0]) < width - len(indent) else quoted[0], line[len(head) :]
    )
    lines = fill(kept, width, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")


def command(line: str, width: int) -> str:
    """A command that can be pasted as it stands: too wide, it goes on before one of its flags, after a backslash."""
    if len(line) <= width:
        return line
    first, *flags = re.split(r" (?=--)", line)
    lines = [first]
    for flag in flags:
        fits = len(lines[-1]) + len(flag) + 3 <= width  # a blank before it, and " \\" after it
        lines = [*lines[:-1], f"{lines[-1]} {flag}"] if fits else [*lines, f"{' ' * (len(line) - len(line.lstrip()) + 2)}{flag}"]
    return " \\\n".join(lines)


REMARKS: ContextVar[Callable[[str], None] | None] = ContextVar("remarks", default=None)


def json_text(text: str) -> str:
    """JSON that is safe for a terminal: control characters are escaped, so parsers still read the same text."""
    return _STEERING.sub(lambda match: _escaped(match[0]), text)


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def shell_word(value: object) -> str:
    """A path or a name as one word of a shell, so that a command in a message can be pasted."""
    from shlex import quote  # deferred: `assay --help` needs none of it

    return quote(str(value))


def some(words: Iterable[object], most: int = 3) -> str:
    """ "a, b, c and 4 more"."""
    every = [str(word) for word in words]
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more:,} more" if more > 0 else "")


def one_line(text: str) -> str:
    """The same in one line: each run of white space becomes one space."""
    return printable(" ".join(text.split()))
