"""On which line of a TOML file is a key?

The standard library's parser does not report lines, so the text is scanned again for table headers and the first key of each
line, which is how experiments are written.  A key inside braces gets the line of the key that holds the braces.
Cannot tell: keys inside a list of inline tables; they get the line of the list.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from fireassay.errors import Excerpt

_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z_\"'][^\[\]]*?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


_VALUE = re.compile(r"""\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|[^#"'])*[^#"'\s]|"(?:\\.|[^"\\])*"|'[^']*')?""")
_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"?|'[^']*'?")  # an unclosed one too
_ITEM = re.compile(r"\[\d+\]$")
SECRET_NAME = re.compile(r"key|token|secret|passw|auth|cred", re.IGNORECASE)  # names that suggest secrets
LONGEST_LINE = 72  # of what is shown


def key_lines(text: str) -> dict[str, int]:
    """The line (from 1) of every key and section by path: launches.seed, faults[0].kind."""
    lines: dict[str, int] = {}
    seen: Counter[str] = Counter()
    section, inside_text = "", False
    for number, line in enumerate(text.split("\n"), start=1):
        if not inside_text and (header := _HEADER.fullmatch(line.rstrip("\r"))):
            section = _section(header[1], _path(header[2]), seen)
            lines.setdefault(section, number)
            lines.setdefault(section.partition("[")[0], number)
        elif not inside_text and (key := _KEY.match(line)):
            lines.setdefault(f"{section}.{_path(key[1])}" if section else _path(key[1]), number)
        if (line.count('"""') + line.count("'''")) % 2:
            inside_text = not inside_text
    return lines


def line_of(path: str, lines: dict[str, int]) -> int | None:
    """The line of a path, or of the closest enclosing key or section."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def excerpt_of(path: str, text: str, lines: dict[str, int], *, key_itself: bool = False) -> Excerpt | None:
    """The line of a path, with the value underlined, or the key with `key_itself`; None if no line is known."""
    number = line_of(path, lines)
    if number is None:
        return None
    line = concealed(text.split("\n")[number - 1])
    key, exact = _KEY.match(line), path in lines or _ITEM.sub("", path) in lines
    value = None if key is None or key_itself or not exact else _VALUE.match(line, key.end())
    span = value.span(1) if value and value[1] else key.span(1) if key else (len(line) - len(line.lstrip()), len(line))
    return cut(Excerpt(line=number, text=line, begin=span[0], end=span[1], exact=exact))


def concealed(line: str) -> str:
    """A line fit to be shown: no line ends, tabs as spaces, and no text next to a name that suggests a secret."""
    plain = line.rstrip("\r").replace("\t", " ").rstrip()
    return _TEXT.sub('"..."', plain) if SECRET_NAME.search(plain) else plain


def cut(excerpt: Excerpt) -> Excerpt:
    """The same without the far parts of a long line."""
    if len(excerpt.text) <= LONGEST_LINE:
        return excerpt
    start = max(0, min(excerpt.begin - LONGEST_LINE // 4, len(excerpt.text) - LONGEST_LINE))
    text = excerpt.text[start : start + LONGEST_LINE]
    begin = excerpt.begin - start
    return replace(excerpt, text=text, begin=begin, end=min(excerpt.end - start, len(text)))


def _section(brackets: str, path: str, seen: Counter[str]) -> str:
    if brackets == "[":
        return path
    seen[path] += 1
    return f"{path}[{seen[path] - 1}]"


def _path(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))
