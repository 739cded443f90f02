"""What is one condition of a record, and when do two values of it agree?

Sizes agree by distance (a bucket would have edges, and a reading beside an edge would make two machines of one), versions by
their leading numbers, sets of configurations by what they have in common; everything else exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.frames.record_data import Measured
from assay.metrics.base import EVERYTHING, Results
from assay.verdict.comparison.types import ConditionClass

Read = Callable[[Measured, Results], Any]  # a plain value or a mapping of them; None: not recorded
Same = Callable[[Any, Any], bool]
Absence = Literal["differs", "note", "skip"]  # what a key means that one side's family lacks


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One field of the fingerprint; a name that ends in `.*` is a family, of which every key is a field of its own."""

    name: str
    kind: ConditionClass
    source: str
    why: str  # why it matters: the end of "it matters because ..."
    read: Read
    same: Same
    how: str  # in words, how two values are compared
    absent: Absence = "differs"  # only where it is identity; what is not recorded on one side is a note elsewhere
    about: tuple[str, ...] = EVERYTHING  # records that have it; of others its absence is no gap
    follows: bool = False  # of a kind's own: named after what all records have in common, not before

    @property
    def family(self) -> str | None:
        """The common beginning of the fields of a family, with its dot."""
        return self.name[:-1] if self.name.endswith(".*") else None

    def fields(self, measured: Measured, results: Results) -> dict[str, Any]:
        """field -> value of one record, without what it did not record, or an imported file did not say."""
        value = self.read(measured, results)
        if self.family is None:
            found = {} if value is None else {self.name: value}
        else:
            found = {f"{self.family}{key}": inner for key, inner in (value or {}).items() if inner is not None}
        unsaid = tuple((measured.foreign or {}).get("unsaid") or ())
        return {field: inner for field, inner in found.items() if not _is_below(field, unsaid)} if unsaid else found


def _is_below(field: str, names: Iterable[str]) -> bool:
    """Whether a field is one of the names, or below one."""
    return any(field == name or field.startswith(f"{name}.") for name in names)


# ---- how two values are compared ---------------------------------------------------------------------------------------


def equal(a: Any, b: Any) -> bool:
    return bool(a == b)


def within(share: float) -> Same:
    """Numbers, or lists of them, that differ by at most this share of the larger."""

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            return bool(a == b)
        return bool(abs(a - b) <= share * max(abs(a), abs(b)))

    return same


def apart(most: float) -> Same:
    """Numbers that differ by at most this much."""
    return lambda a, b: bool(abs(a - b) <= most)


def overlap(a: Any, b: Any) -> bool:
    return bool(set(a) & set(b))


def agree_on_common(a: Any, b: Any) -> bool:
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return bool(a == b)
    return all(a[key] == b[key] for key in a.keys() & b.keys())
