"""How do the arguments of a function become the flags of its verb?  Text is read and checked as on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fireassay.errors import Problem, refuse_any

if TYPE_CHECKING:
    from fireassay.spec.flags.of_verb import KeyFlag


def texts_of(verb: str, flags: Mapping[str, object], problems: Iterable[Problem] = (), *, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """The attributes that the parser of a verb would set; `others`: flags that are no key.

    Raises:
        SpecError: every argument that is no flag, and these problems.
    """
    from fireassay.spec.flags.of_verb import flags_of

    known = {item.name.lstrip("-").replace("-", "_"): item for item in flags_of(verb)}
    names = (*known, *others)
    every = [*(_unknown(verb, name, value, names) for name, value in flags.items() if name not in names), *problems]
    refuse_any(every, f"the arguments of fireassay.{verb}")
    texts: dict[str, Any] = {item.attribute: None for item in known.values()}
    return texts | {known[name].attribute: _text(known[name], value) for name, value in flags.items() if name in known}


def _unknown(verb: str, name: str, value: object, names: tuple[str, ...]) -> Problem:
    from fireassay.spec.explain import closest

    match = closest(name, names)
    fix = f"Did you mean {match}?" if match else f"There are {', '.join(names)}."
    return Problem(name, repr(value), f"a flag of `assay {verb}`", fix)


def _text(item: KeyFlag, value: object) -> Any:
    """A value as the flag's text: True for a switch, commas between the items of a list."""
    if isinstance(value, bool) or value is None:
        return None if value is False else value
    if isinstance(value, list | tuple):
        return [str(part) for part in value] if item.flag.many else ",".join(map(str, value))
    return [str(value)] if item.flag.many else str(value)
