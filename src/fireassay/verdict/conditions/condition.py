"""What is a condition of a record, and when do two values agree?

Sizes agree by distance (with buckets, a reading near an edge would split one machine into two), versions by their leading numbers, sets
of configurations by their common members; everything else exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results

ConditionClass = Literal["identity", "hardware", "condition", "context"]
Read = Callable[[RecordData, Results], Any]  # a plain value or a mapping of them; None: not recorded
Same = Callable[[Any, Any], bool]
Absence = Literal["differs", "note", "skip"]  # meaning of a key missing from one side's family


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One field of the fingerprint; a name ending in `.*` is a family: each of its keys is a field."""

    name: str
    kind: ConditionClass
    source: str
    why: str  # why it matters: the end of "it matters because ..."
    read: Read
    same: Same = lambda a, b: bool(a == b)
    how: str = "exactly"  # how two values are compared, in words
    absent: Absence = "differs"  # identity only; elsewhere a value missing on one side is a note
    about: tuple[str, ...] = EVERYTHING  # kinds of record that have it; for others its absence is no gap
    follows: bool = False  # specific to a kind: listed after the fields common to all records

    @property
    def family(self) -> str | None:
        """The common prefix of a family's fields, with its dot."""
        return self.name[:-1] if self.name.endswith(".*") else None

    def fields(self, measured: RecordData, results: Results) -> dict[str, Any]:
        """field -> value for one record, without fields that it, or an imported file, did not record."""
        value = self.read(measured, results)
        if self.family is None:
            values = {} if value is None else {self.name: value}
        else:
            values = {f"{self.family}{key}": inner for key, inner in (value or {}).items() if inner is not None}
        unsaid = tuple((measured.foreign or {}).get("unsaid") or ())
        return {field: inner for field, inner in values.items() if not _is_below(field, unsaid)} if unsaid else values


def _is_below(field: str, names: Iterable[str]) -> bool:
    """True if a field is one of the names or nested below one."""
    return any(field == name or field.startswith(f"{name}.") for name in names)


# ---- comparing two values ----------------------------------------------------------------------------------------------


def equal(a: Any, b: Any) -> bool:
    return bool(a == b)


def relative(share: float) -> Same:
    """Numbers, or lists of them, agree if they differ by at most this share of the larger."""

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            return bool(a == b)
        return bool(abs(a - b) <= share * max(abs(a), abs(b)))

    return same


def absolute(most: float) -> Same:
    """Numbers agree if they differ by at most this much."""
    return lambda a, b: bool(abs(a - b) <= most)


def overlap(a: Any, b: Any) -> bool:
    return bool(set(a) & set(b))


def agree_on_common(a: Any, b: Any) -> bool:
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return bool(a == b)
    return all(a[key] == b[key] for key in a.keys() & b.keys())
