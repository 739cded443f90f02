"""On which line of a TOML file is a key?

The standard library's parser does not report lines, so the text is scanned again for table headers and the first key of each
line, which is how experiments are written.  A key inside braces gets the line of the key that holds the braces.
Cannot tell: keys inside a list of inline tables; they get the line of the list.
"""

from __future__ import annotations

import re
from collections import Counter

_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z_\"'][^\[\]]*?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


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


def _section(brackets: str, path: str, seen: Counter[str]) -> str:
    if brackets == "[":
        return path
    seen[path] += 1
    return f"{path}[{seen[path] - 1}]"


def _path(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))
