"""What do rows of the user's own files say beside the question: id, cluster, groups and weight?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.files import Row
from fireassay.spec.explain import closest

BESIDE: Final = ("id", "cluster", "groups", "weight")
LIGHTEST: Final = 1e-9
HEAVIEST: Final = 1e9


def id_of(row: Row, name: str = "id") -> str:
    """The row's id, or its number."""
    return files.text_of(row, name) if name and row.values.get(name) is not None else str(row.number)


def label_of(row: Row, name: str = "cluster") -> str | None:
    """A label, or None where the row has none."""
    return files.text_of(row, name) if row.values.get(name) is not None else None


def groups_of(row: Row) -> Mapping[str, str]:
    """The labels of subgroups: an object of texts."""
    groups = row.values.get("groups")
    if groups is None:
        return {}
    if not isinstance(groups, dict):
        raise files.wrong(row.where, f"{files.shown(groups)} in 'groups'", 'an object of labels, as {"language": "en"}')
    inner = Row(where=f"{row.where}, groups", number=row.number, values=groups)
    return {name: files.text_of(inner, name) for name in groups}


def weight_of(row: Row, name: str = "weight") -> float:
    """A weight, or 1 where the row has none; squares of weights must be numbers that are not 0."""
    found = row.values.get(name)
    if found is None:
        return 1.0
    try:
        weight = float(found) if not isinstance(found, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not LIGHTEST <= weight <= HEAVIEST:
        raise files.wrong(row.where, f"{files.shown(found)} in {name!r}", f"a number from {LIGHTEST:g} to {HEAVIEST:g}")
    return weight


def known(row: Row, names: tuple[str, ...]) -> None:
    """Refuse a field that looks like a misspelt one; other fields are the user's."""
    for name in row.values:
        match = closest(name, names)
        if name not in names and match is not None and match not in row.values and len(name) > 3:
            raise files.wrong(
                row.where, f"the field {files.shown(name)}", f"fields with these names: {', '.join(names)}", f"Did you mean {match}?"
            )
