"""How is untrusted text shown in a terminal, a page or XML without letting it control them?

A record, a claim file or a script's output may hold anything.  Control characters move the cursor, set a window's title or
hide earlier text; bidirectional overrides (Unicode TR 36, section 3.4) reorder words on display; lone surrogates cannot be
encoded.  Each becomes U+FFFD, so that the replacement is visible.
Cannot tell a name from a look-alike.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar

TYPE_CHECKING = False  # type checkers assume true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

# The characters that XML 1.0 forbids, the controls between DEL and NBSP, and bidirectional marks.  Those that are allowed, negated,
# would take ten times as long to compile.
_STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with U+FFFD for every control character; line breaks and tabs stay."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def say(text: object, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print without control characters: the name of a folder, a file or an experiment may be hostile."""
    print(printable(str(text)), file=file, flush=flush)


def remark(sentence: str) -> None:
    """Something worth knowing that is not the answer: a line on standard error, or a call of what a program put into `REMARKS`."""
    (REMARKS.get() or _on_stderr)(printable(sentence))


def _on_stderr(sentence: str) -> None:
    print(f"assay: {sentence}", file=sys.stderr)


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


def one_line(text: str) -> str:
    """The same in one line: each run of white space becomes one space."""
    return printable(" ".join(text.split()))
