"""On which machine was it measured, and what changed during the experiment?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from fireassay.estimates.format import given
from fireassay.reports.rows.types import EnvironmentGroup, EnvironmentRow


def environment(recorded: object) -> tuple[EnvironmentGroup, ...]:
    """Both snapshots flattened to dotted keys, grouped by their first part.

    A fact of one snapshot alone counts as changed, unless its whole group was read only once.
    """
    snapshots = recorded if isinstance(recorded, Mapping) else {}
    before, after = (dict(_flat(snapshots.get(when) or {})) for when in ("before", "after"))
    read_twice = {key.partition(".")[0] for key in before} & {key.partition(".")[0] for key in after}
    groups: dict[str, list[EnvironmentRow]] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        head, _, rest = key.partition(".")
        old, new = before.get(key, "–"), after.get(key, "–")
        row = EnvironmentRow(key=rest or head, before=old, after=new, changed=head in read_twice and old != new)
        groups.setdefault(head, []).append(row)
    return tuple(EnvironmentGroup(name=name, rows=tuple(rows)) for name, rows in groups.items())


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and set(value) == {"absent"}:
        yield prefix, f"not known: {value['absent']}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            yield from _flat(item, f"{prefix}.{index}")
    elif prefix:
        yield prefix, _plain(value)


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return given(value, digits=6)
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(inner) for inner in value) or "none"
    return value if isinstance(value, str) else json.dumps(value, default=str)
