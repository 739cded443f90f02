"""How is a user's TOML file read, and how are its errors explained?"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fireassay.errors import Excerpt, Problem, SpecError, refuse
from fireassay.spec.explain import concealed, cut
from fireassay.spec.user_file import MAX_DOTS, content, long_key, similar_file

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse(path: Path, what: str = "an experiment") -> tuple[dict[str, Any], str]:
    """The raw keys of a TOML file and its text; `what` names in errors what such a file describes.

    Raises:
        SpecError: the file cannot be read or is not TOML.
    """
    text = text_of(path, what)
    return parsed(text, str(path)), text


def text_of(path: Path, what: str = "an experiment") -> str:
    """The text of a TOML file; `what` names in errors what such a file describes. Raises SpecError: it cannot be read."""
    allowed = f"a TOML file that describes {what}"
    if path.is_dir():
        inside = sorted(file.name for file in path.glob("*.toml"))
        remedy = f"Give a file in it, for example {path / inside[0]}." if inside else ""
        raise _file_problem(path, "a folder", allowed, remedy)
    try:
        raw = content(path)
    except FileNotFoundError:
        raise _file_problem(path, "no such file", allowed, similar_file(path)) from None
    except (OSError, ValueError) as error:  # ValueError: null byte in the name
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise _file_problem(path, f"a file that cannot be read ({why})", allowed) from None
    return _decoded(path, raw)


def _decoded(path: Path, raw: bytes) -> str:
    if raw.startswith(BYTE_ORDER_MARK):
        raise _file_problem(
            path, "a byte-order mark at its beginning", "TOML in UTF-8 without one", 'Save it again as "UTF-8", not "UTF-8 with BOM".'
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        invalid = f"the byte 0x{raw[error.start]:02x} on line {line}"
        raise _file_problem(path, invalid, "text in UTF-8", 'Save it again as "UTF-8".') from None


_POSITION = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)")


def parsed(text: str, source: str) -> dict[str, Any]:
    """The raw keys of a TOML text. Raises SpecError: it is no TOML; `source` names its origin."""
    if line := long_key(text):
        raise refuse(f"line {line}", f"a key with more than {MAX_DOTS} dots", "TOML", source=source)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError((_syntax_problem(str(error), text),), source) from None
    except RecursionError:
        raise refuse("the file", "very deep nesting", "TOML", source=source) from None
    except ValueError:  # Python rejects integers of more than 4300 digits
        raise refuse("the file", "a whole number of thousands of digits", "TOML", source=source) from None


def _syntax_problem(message: str, text: str) -> Problem:
    match = _POSITION.fullmatch(message)
    if match is None or match[2] is None:
        end = "the end of the file where more was expected"
        return Problem("the last line", end, "TOML", match[1] if match else message)
    number, column = int(match[2]), int(match[3]) - 1
    line = concealed(text.split("\n")[number - 1])
    reason = "This key or table was given before." if "verwrite" in match[1] or "twice" in match[1] else f"{match[1]}."
    return Problem(
        f"line {match[2]}, column {match[3]}",
        line.strip() or "an empty line",
        "TOML",
        _TEXT_NEEDS_QUOTES if match[1] == "Invalid value" else reason,
        excerpt=cut(Excerpt(line=number, text=line, begin=min(column, len(line)), end=min(column, len(line)) + 1, exact=True)),
    )


_TEXT_NEEDS_QUOTES = "This is no TOML value: text stands in quotes, true and false are small, lists in brackets."


def _file_problem(path: Path, state: str, allowed: str, remedy: str = "") -> SpecError:
    return refuse(str(path), state, allowed, remedy, source=str(path))
