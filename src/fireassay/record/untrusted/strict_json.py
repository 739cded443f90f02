"""How is untrusted JSON or TOML parsed unambiguously and without crashing the parser?

Stricter than the parsers: duplicate keys, non-finite numbers (NaN, Infinity, 1e999) and deep nesting are refused.
Every problem is a ValueError with a short reason.
"""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any, Final, NoReturn

DEEPEST: Final = 64  # assay's own files go to 10
MAX_DOTS: Final = 64  # in a key: parsing is quadratic in their number


def json_of(content: bytes) -> Any:
    """One JSON value."""
    try:
        value = json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _check(value)
    return value


def toml_of(content: bytes) -> dict[str, Any]:
    """A TOML document."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _refuse_long_keys(text)
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check(value, finite=False)  # TOML allows inf, and a limit may be infinite
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in set(names[:number]))
        raise ValueError(f"the key {twice[:60]!r} is duplicated in one object")
    return result


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _check(value: Any, *, finite: bool = True) -> None:
    """Check depth and numbers, level by level."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
            elif finite and isinstance(item, float) and not math.isfinite(item):
                raise ValueError("a number in it is too large")
        if not inner:
            return
        level = inner
    raise ValueError("it is nested too deeply")


def _refuse_long_keys(text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        head = line.partition("=")[0]
        if head.count(".") > MAX_DOTS and not head.lstrip().startswith(("#", '"', "'")):
            raise ValueError(f"the key in line {number} is nested too deeply")
