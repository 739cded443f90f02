"""Which field tells apart the answers to an item that are pooled: are they of several models?

Lines with one id are several answers to one item, which are averaged, or are its candidates.  A field of a few texts, each of them equally often
among the answers of an item, is no chance: the file holds sides that were not named.  Cannot tell: numbers (a seed), and sides that few items have
in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

MAX_LEVELS: Final = 20  # of such a field
MAX_LENGTH: Final = 80  # characters of one
SHARE: Final = 0.9  # of the items with several answers, that have each equally often


class Levels:
    """Collects fields of a few texts while the lines of a file are read; `used`: those with another meaning."""

    def __init__(self, used: Collection[str]) -> None:
        self._used = frozenset(used)
        self._lines = 0
        self._of: dict[str, list[str]] = {}  # the text of each line
        self._levels: dict[str, set[str]] = {}

    def add(self, values: Mapping[str, Any]) -> None:
        """Take the next line."""
        if not self._lines:
            self._of = {name: [] for name in values if name not in self._used}
            self._levels = {name: set() for name in self._of}
        self._lines += 1
        for name in list(self._of):
            value, levels = values.get(name), self._levels[name]
            if not isinstance(value, str) or not 0 < len(value) <= MAX_LENGTH or _is_number(value):
                del self._of[name]
                continue
            levels.add(value)
            self._of[name].append(value)
            if len(levels) > MAX_LEVELS:
                del self._of[name]

    def found(self, ids: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
        """The field and its texts in order; `ids`: the item of each line. None: there is none."""
        if len(set(ids)) == len(ids):
            return None
        for name, texts in self._of.items():
            levels = tuple(dict.fromkeys(texts))
            if len(levels) > 1 and _crossed(ids, texts, levels):
                return name, levels
        return None


def _crossed(ids: Sequence[str], texts: Sequence[str], levels: Sequence[str]) -> bool:
    """True if nearly every item with several answers has each text equally often."""
    at, counts = {level: place for place, level in enumerate(levels)}, dict[str, list[int]]()
    for item, text in zip(ids, texts, strict=True):
        counts.setdefault(item, [0] * len(levels))[at[text]] += 1
    several = [count for count in counts.values() if sum(count) > 1]
    return sum(min(count) == max(count) for count in several) >= SHARE * len(several)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
