"""Which flag of the command line sets a field?  The field says so itself: `Annotated[int, flag("--seed", "N", "...", run=30)]`.

Nothing else lists flags: the parsers, their help and the messages come from here (`assay.spec.flags.of_verb`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag of one or more verbs."""

    name: str
    metavar: str  # "": a switch, which stands for true; --no-... for false
    help: str  # {default} stands for the default
    places: Mapping[str, int] = field(hash=False)  # verb -> where it stands in its help
    read: Callable[[str], Any] | None = None  # raises Unreadable; by default the field's type says how
    many: bool = False  # may be given more than once
    bare: str | None = None  # what it stands for without a value
    default: Any = None  # of these verbs, where it is not the field's own


def flag(
    name: str,
    metavar: str,
    help: str,
    *,
    read: Callable[[str], Any] | None = None,
    many: bool = False,
    bare: str | None = None,
    default: Any = None,
    **places: int,
) -> Flag:
    """A flag of the verbs that are named, each with its place in the verb's help: `run=30`."""
    return Flag(name=name, metavar=metavar, help=help, read=read, many=many, bare=bare, default=default, places=places)
