"""Which flags has a verb, and which keys of the experiment do they set?

All from the fields' own `fireassay.spec.model`.  Values stay text until they enter the mapping that a file would give, so that
every error is reported in one message, under the names that the user wrote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.errors import Problem, SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.keys import Key, keys
from fireassay.spec.model import Flag, Unreadable

if TYPE_CHECKING:
    import argparse

PREFIX = "key_"  # of namespace attributes, so that the verb's own flags never collide
Text = str | bool | list[str]  # a parser's value


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyFlag:
    """A flag of a verb and the key that it sets."""

    flag: Flag
    key: Key

    @property
    def name(self) -> str:
        """As written: --seed."""
        return self.flag.name

    @property
    def path(self) -> str:
        """The key; in a list of tables, that of the first."""
        path = self.key.path.replace("[]", "[0]")
        return f"{path}.{self.flag.entry}" if self.flag.entry else path

    @property
    def attribute(self) -> str:
        """The namespace attribute."""
        return PREFIX + self.name.removeprefix("--").replace("-", "_")

    @property
    def help(self) -> str:
        """Help text with the default."""
        default = self.key.default if self.flag.default is None else self.flag.default
        return self.flag.help.format(default=",".join(map(str, default)) if isinstance(default, tuple) else default)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.key.type.startswith("list of") and not self.flag.many:
            return f"{self.key.type.removeprefix('list of ')} with commas and no spaces, as in {self.flag.metavar}"
        return self.key.allowed


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An experiment that was run before, as a base for flags."""

    data: dict[str, Any]
    folder: Path  # base of its files
    record: Path


@cache
def flags_of(verb: str) -> tuple[KeyFlag, ...]:
    """The flags of a verb in help order."""
    every = [KeyFlag(flag=flag, key=key) for key in keys(Experiment, plug_ins=False).values() for flag in key.flags if verb in flag.places]
    return tuple(sorted(every, key=lambda item: item.flag.places[verb]))


def declare(group: argparse._ActionsContainer, flags: Iterable[KeyFlag]) -> None:
    """Declare flags in a parser or a group, each with its key."""
    for item in flags:
        flag, words = item.flag, f"{item.help}  [{item.path}]"
        if not flag.metavar:
            value = not flag.name.startswith("--no-")
            group.add_argument(flag.name, dest=item.attribute, action="store_const", const=value, help=words)
        elif flag.bare is not None:
            group.add_argument(flag.name, dest=item.attribute, metavar=flag.metavar, nargs="?", const=flag.bare, help=words)
        else:
            action = "append" if flag.many else "store"
            group.add_argument(flag.name, dest=item.attribute, metavar=flag.metavar, action=action, help=words)


def given(namespace: argparse.Namespace, flags: Iterable[KeyFlag]) -> dict[KeyFlag, Text]:
    """The given flags, with their text."""
    texts = {item: getattr(namespace, item.attribute, None) for item in flags}
    return {item: text for item, text in texts.items() if text is not None}


def put_all(data: dict[str, Any], texts: Mapping[KeyFlag, Text]) -> list[Problem]:
    """Set the keys of flags in `data`; returns problems for unreadable ones."""
    problems: list[Problem] = []
    for item, text in texts.items():
        parts = [_read(item, part) for part in text] if isinstance(text, list) else [_read(item, text)]
        if unread := [part for part in parts if isinstance(part, Problem)]:
            problems += unread
        elif not isinstance(text, list):  # a file may give the whole section
            whole = isinstance(parts[0], dict) and item.key.type == "text"
            put(data, item.path.rpartition(".")[0] if whole else item.path, parts[0])
        else:
            put(data, item.path, dict(parts) if item.key.type.startswith("table of") else parts)
    return problems


def words_of(experiment: Experiment, verb: str) -> tuple[tuple[str, ...], ...]:
    """The flags of a verb that say what the experiment says, each with its value; defaults only in the section that a flag makes."""
    data = experiment.model_dump(mode="json")
    return tuple(words for item in flags_of(verb) for words in _written(item, _value(data, item.path)))


def _value(data: Any, path: str) -> Any:
    for part in path.split("."):
        data = data.get(part) if isinstance(data, Mapping) else None
    return data


def _written(item: KeyFlag, value: Any) -> Iterator[tuple[str, ...]]:
    default = item.key.default if item.flag.default is None else item.flag.default
    default = None if item.path.startswith("quality.") else default  # without a flag there is no such section
    if value is None or value == (list(default) if isinstance(default, tuple) else default):
        return
    if isinstance(value, Mapping):
        yield from ((item.name, f"{name}={_plain(one)}") for name, one in value.items())
    elif isinstance(value, list) and item.flag.many:
        yield from ((item.name, _plain(one)) for one in value)
    elif isinstance(value, bool):
        yield from [(item.name,)] if value != item.name.startswith("--no-") else []
    else:
        yield (item.name, ",".join(map(_plain, value)) if isinstance(value, list) else _plain(value))


def _plain(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def put_models(serving: dict[str, Any]) -> None:
    """Give each target its own model where the flag names them: "a=M,b=N"."""
    by_name = {target["name"]: target for target in serving["targets"] if "name" in target}
    pairs = [part.partition("=") for part in str(serving.get("model", "")).split(",")]
    if all(mark and name in by_name for name, mark, _ in pairs):
        del serving["model"]
        for name, _, model in pairs:
            by_name[name]["model"] = model


def put_flags(data: dict[str, Any], verb: str, namespace: argparse.Namespace) -> tuple[dict[KeyFlag, Text], list[Problem]]:
    """Set the verb's own defaults and the given flags in `data`; returns those flags, and problems for unreadable ones."""
    flags = flags_of(verb)
    put_defaults(data, flags)
    texts = given(namespace, flags)
    return texts, put_all(data, texts)


def put_defaults(data: dict[str, Any], flags: Iterable[KeyFlag]) -> None:
    """Set the verb's own defaults in `data`."""
    for item in flags:
        if item.flag.default is not None:
            default = item.flag.default
            put(data, item.path, list(default) if isinstance(default, tuple) else default)


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set one key; tables merge, other values are replaced."""
    table: Any = data
    *above, key = path.split(".")
    for part in above:
        name, first, _ = part.partition("[0]")
        inner = table.get(name)
        if first:
            inner = inner[0]
        elif not isinstance(inner, dict):
            inner = table[name] = {}
        table = inner
    before = table.get(key)
    table[key] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value


def as_flag(problem: Problem, flags: Iterable[KeyFlag]) -> Problem:
    """The problem under the name of the flag that sets its key."""
    path = problem.where
    near = [item for item in flags if path == item.path or path.startswith((f"{item.path}[", f"{item.path}."))]
    name = max(near, key=lambda item: len(item.path)).name if near else None
    return problem if name is None else replace(problem, where=name)


def experiment_of(
    data: Mapping[str, Any], problems: Iterable[Problem], rename: Callable[[Problem], Problem], folder: Path | None = None
) -> Experiment:
    """The experiment from flags alone; `rename` puts a problem under the user's name for it. Scripts are relative to `folder`.

    Raises:
        SpecError: unreadable flags and all other problems, at once.
    """
    from fireassay.spec.load import checked

    unread = {problem.where: problem for problem in problems}
    try:
        experiment = checked(data, folder or Path(), "the flags")
    except SpecError as error:
        more = map(rename, error.problems)
        raise SpecError((*problems, *(problem for problem in more if problem.where not in unread)), "the flags") from None
    if unread:
        raise SpecError(problems, "the flags")
    return experiment


def _read(item: KeyFlag, text: str | bool) -> Any:
    """The value in its key's type, or a problem."""
    if isinstance(text, bool):
        return text
    try:
        return (item.flag.read or _reader(item))(text)
    except Unreadable as error:
        return Problem(item.name, text or "nothing", error.allowed, error.fix)
    except ValueError:
        return Problem(item.name, text or "nothing", item.allowed)


def _reader(item: KeyFlag) -> Callable[[str], Any]:
    """The parser of one value, by the key's type."""
    kind = item.key.type
    if kind.startswith("list of") and not item.flag.many:
        read_item = _READERS.get(kind.removeprefix("list of ").removesuffix("s"), str.strip)
        return lambda text: [read_item(part) for part in text.split(",")]
    return _READERS.get(kind, str)


def whole(text: str) -> int:
    """A whole number, else ValueError."""
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) or len(text) > sys.int_info.default_max_str_digits:
        raise ValueError(text)
    return int(text)


_READERS: Mapping[str, Callable[[str], Any]] = {"whole number": whole, "number": float, "date": date.fromisoformat}
