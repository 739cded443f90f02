"""What do layouts of programming problems share?  Lines of JSON objects, also compressed; every error names file and line."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay.errors import Problem, SpecError
from fireassay.scoring.items import Item
from fireassay.spec.explain import did_you_mean, shown

MOST_BYTES: Final = 1 << 30  # of a file, uncompressed: more is no benchmark of this kind


def rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Number and object of each line that is not empty.

    Raises:
        SpecError: the file cannot be read or is empty, or a line is no object.
    """
    some = False
    for number, line in enumerate(_content(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wrong(f"{path.name}, line {number}", f"no JSON ({error})", "one JSON object per line") from None
        if not isinstance(row, dict):
            raise wrong(f"{path.name}, line {number}", shown(row), "one JSON object per line")
        some = True
        yield number, row
    if not some:
        raise wrong(path.name, "no line with a problem", "at least one line")


def _content(path: Path) -> str:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                content = file.read(MOST_BYTES + 1)
        else:
            content = path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise wrong(path.name, f"{str(path)!r}, which cannot be read ({reason})", "a readable file") from None
    if len(content) > MOST_BYTES:
        raise wrong(path.name, f"more than {MOST_BYTES >> 30} GiB", "a smaller file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise wrong(f"{path.name}, line {line}", "bytes that are not UTF-8", "UTF-8 text") from None


def sha256(path: Path) -> str:
    """The digest of the file as it is stored."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def text(where: str, row: Mapping[str, Any], name: str) -> str:
    """A field that must hold a text that is not empty."""
    value = row.get(name)
    if name not in row:
        fields = ", ".join(map(shown, row)) or "none"
        raise wrong(where, f"no field {name!r}", f"a text in every line; this one has {fields}", did_you_mean(name, row))
    if not isinstance(value, str) or not value.strip():
        raise wrong(where, f"{shown(value)} in {name!r}", "a text")
    return value


def texts(where: str, row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that must hold a list of texts."""
    value = row.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        found = f"{shown(value)} in {name!r}" if name in row else f"no field {name!r}"
        raise wrong(where, found, "a list of texts", did_you_mean(name, row) if name not in row else "")
    return tuple(value)


def compiled(where: str, name: str, source: str) -> None:
    """Demand that a field holds Python."""
    try:
        compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise wrong(where, f"no Python in {name!r} ({error})", "the source of the test") from None


def unique(name: str, items: Sequence[tuple[int, Item]]) -> tuple[Item, ...]:
    """The items, of which no two may have one id."""
    seen: dict[str, int] = {}
    for number, item in items:
        if item.id in seen:
            raise wrong(f"{name}, line {number}", f"the id {shown(item.id)} of line {seen[item.id]} again", "one line for each problem")
        seen[item.id] = number
    return tuple(item for _, item in items)


def wrong(where: str, found: str, allowed: str, fix: str = "") -> SpecError:
    """An error of the file."""
    return SpecError((Problem(where=where, found=found, allowed=allowed, fix=fix),), "the problems")
