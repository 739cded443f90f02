"""Which flag of the command line sets a field?

The field declares it: `Annotated[int, flag("--seed", "N", "...", run=30)]`.  Nothing else lists flags: parsers, help and messages
derive from here (`fireassay.spec.flags.of_verb`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag of one or more verbs."""

    name: str
    metavar: str  # "": a switch, true; --no-... is false
    help: str  # {default} is replaced by the default
    places: Mapping[str, int] = field(hash=False)  # verb -> position in its help
    read: Callable[[str], Any] | None = None  # raises Unreadable; default: by the field's type
    many: bool = False  # repeatable
    bare: str | None = None  # its meaning without a value
    default: Any = None  # of these verbs, if not the field's


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
    """A flag of the named verbs, each with its position in the verb's help: `run=30`."""
    return Flag(name=name, metavar=metavar, help=help, read=read, many=many, bare=bare, default=default, places=places)
