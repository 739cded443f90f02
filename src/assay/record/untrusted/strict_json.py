"""How is JSON or TOML that somebody else wrote read, so that every program reads the same in it and none is brought down?

Stricter than the parsers: a key that stands twice, a number that is none (NaN, Infinity, 1e999) and what is nested too deep are refused.
Whatever is wrong is a ValueError with a short reason.
"""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any, Final, NoReturn

DEEPEST: Final = 64  # assay's own files go to 10
LONGEST_KEY: Final = 4096  # characters of a line without any quote, bracket or value: the parser's work grows with its dots' square
MOST_DOTS: Final = 64


def json_of(content: bytes) -> Any:
    """One JSON value."""
    try:
        found = json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _check(found)
    return found


def toml_of(content: bytes) -> dict[str, Any]:
    """A TOML document."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _refuse_long_keys(text)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    _check(found, finite=False)  # TOML has inf, and a limit may be it
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in set(names[:number]))
        raise ValueError(f"the key {twice[:60]!r} stands twice in one object")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _check(value: Any, *, finite: bool = True) -> None:
    """Depth and numbers, level by level."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
            elif finite and isinstance(one, float) and not math.isfinite(one):
                raise ValueError("a number in it is too large to be one")
        if not inner:
            return
        level = inner
    raise ValueError("it is nested too deep")


def _refuse_long_keys(text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        head = line.partition("=")[0]
        if head.count(".") > MOST_DOTS and not head.lstrip().startswith(("#", '"', "'")):
            raise ValueError(f"the key in line {number} is nested too deep")
