"""Which defaults of the command line are the user's own, and where does each come from?

`~/.config/fireassay.toml` ($XDG_CONFIG_HOME is respected) holds defaults that change no measurement: where records are, how
output looks.  `FIREASSAY_CONFIG` names another file; empty, none is read.  A condition of a measurement is refused there: two
people with one experiment file would otherwise measure different things.
A flag overrides the file, and the file $NO_COLOR and $COLUMNS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fireassay.errors import Problem, SpecError
from fireassay.printable import WIDTH

if TYPE_CHECKING:
    import argparse

Colour = Literal["auto", "always", "never"]
COLOURS: Final = ("auto", "always", "never")
VARIABLE: Final = "FIREASSAY_CONFIG"
FILE: Final = "fireassay.toml"
NARROWEST: Final = 40


@dataclass(frozen=True, kw_only=True)
class _Allowed:
    words: str
    fits: Callable[[Any], bool]


def _meaning(about: str, words: str, fits: Callable[[Any], bool]) -> dict[str, Any]:
    return {"about": about, "allowed": _Allowed(words=words, fits=fits)}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The defaults; each field is a key of the file."""

    records: str = field(
        default="records", metadata=_meaning("folder of the records, as --root", "text, a folder", lambda v: isinstance(v, str) and bool(v))
    )
    color: Colour = field(
        default="auto", metadata=_meaning("colour, as --color", 'one of "auto", "always", "never"', lambda v: v in COLOURS)
    )
    width: int | None = field(
        default=None,
        metadata=_meaning(
            "columns of the output; default: the terminal's, else $COLUMNS, else 80",
            f"a whole number of at least {NARROWEST}",
            lambda v: type(v) is int and v >= NARROWEST,
        ),
    )
    quiet: bool = field(
        default=False, metadata=_meaning("no progress and no notes, as --quiet", "true or false", lambda v: isinstance(v, bool))
    )
    format: str = field(
        default="terminal", metadata=_meaning("output format without a flag, as --format", "text, a format", lambda v: isinstance(v, str))
    )
    open: bool = field(
        default=False,
        metadata=_meaning("open a written HTML page in the browser, on a terminal", "true or false", lambda v: isinstance(v, bool)),
    )
    export: Sequence[str] = field(
        default=(),
        metadata=_meaning(
            "exports every record that a verb sealed, after it, as --to and --out of assay export",
            'a list of texts "NAME=DEST"',
            lambda v: isinstance(v, list) and all(isinstance(one, str) and one.partition("=")[0] for one in v),
        ),
    )


USED: ContextVar[Settings] = ContextVar("settings", default=Settings())  # noqa: B039, it is frozen


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A setting with its value and where the value comes from."""

    name: str
    value: Any
    source: str
    about: str


class Unasked(str):
    """A format that no flag asked for."""

    __slots__ = ()


def path_of(environment: Mapping[str, str]) -> Path | None:
    """The file, whether or not it exists; None if none is to be read."""
    if VARIABLE in environment:
        return expanded(environment[VARIABLE]) if environment[VARIABLE] else None
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".config")
    return Path(base) / FILE


def expanded(path: str) -> Path:
    """The path with its `~` replaced; that of an unknown user stays, unlike with `Path.expanduser`, and is then reported as missing."""
    return Path(os.path.expanduser(path))


def exists(path: Path) -> bool:
    """True if there is a file; a name that the system refuses (too long, no permission) is none."""
    return os.path.exists(path)


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of the user's file.

    Raises:
        SpecError: the file named by the variable is missing, or it has a wrong key: all problems at once.
    """
    return Settings(**_given(environment))


def _given(environment: Mapping[str, str]) -> dict[str, Any]:
    """The keys that the file sets."""
    path = path_of(environment)
    if path is None or (VARIABLE not in environment and not exists(path)):
        return {}
    import tomllib

    from fireassay.spec.user_file import content, long_key

    known = {item.name: item.metadata["allowed"] for item in fields(Settings)}
    try:
        text = content(path).decode("utf-8")
        data = {} if long_key(text) else tomllib.loads(text)
        if data and all(name in known and known[name].fits(value) for name, value in data.items()):
            return data
    except (OSError, ValueError, RecursionError):
        pass
    from fireassay.spec.load import with_lines
    from fireassay.spec.toml_file import parse

    data, text = parse(path, "defaults of the command line")  # raises what is wrong with the file
    if not data:
        return {}
    raise SpecError(with_lines(tuple(_problems(data, known)), text), str(path))


def _problems(data: Mapping[str, Any], known: Mapping[str, _Allowed]) -> Iterator[Problem]:
    from fireassay.spec.explain import did_you_mean, shown

    for name, value in data.items():
        if name not in known:
            condition = _condition(name)
            wrong = "a condition of a measurement, so it has no default here" if condition else "not a key of this file"
            remedy = f"Put it into the experiment: {condition}." if condition else did_you_mean(name, known)
            yield Problem(name, shown(value), ", ".join(known), remedy, wrong=wrong)
        elif not known[name].fits(value):
            yield Problem(name, shown(value), known[name].words)


def _condition(name: str) -> str:
    """The key of the experiment that a name means, with its flag; "" if it means none."""
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.keys import keys

    flag = f"--{name.replace('_', '-')}"
    every = [(key, {one.name for one in key.flags}) for key in keys(Experiment).values()]
    called = [found for found in every if name == found[0].path or flag in found[1]]  # before keys that only end so
    for key, flags in called or [found for found in every if name == found[0].path.rpartition(".")[2]]:
        return f"[{key.path}]" if key.section else key.path + (f" ({', '.join(sorted(flags))})" if flags else "")
    return ""


def origins(environment: Mapping[str, str]) -> list[Origin]:
    """Every setting with the origin of its value."""
    given, path, columns = _given(environment), path_of(environment), environment.get("COLUMNS", "")
    variables = {"color": "NO_COLOR" if environment.get("NO_COLOR") else "", "width": "COLUMNS" if columns.isdecimal() else ""}
    found = {"color": "never", "width": columns}
    result = []
    for item in fields(Settings):
        variable = variables.get(item.name, "")
        value, source = (found[item.name], f"${variable}") if variable and item.name not in given else (item.default, "default")
        if item.name in given:
            value, source = given[item.name], str(path)
        result.append(Origin(name=item.name, value=value, source=source, about=item.metadata["about"]))
    return result


def use(settings: Settings, parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Parse the words with these settings as defaults, and let the rest of the command line see what was decided."""
    if settings.records != Settings().records and any(action.dest == "root" for action in parser._actions):
        parser.set_defaults(root=expanded(settings.records))
    arguments = parser.parse_args(words)
    if isinstance(getattr(arguments, "form", None), Unasked) and getattr(arguments, "output", None) is None:
        arguments.form = settings.format
    arguments.quiet = bool(getattr(arguments, "quiet", False)) or settings.quiet
    colour = getattr(arguments, "color", None) or settings.color
    WIDTH.set(settings.width)
    USED.set(replace(settings, color=colour, quiet=arguments.quiet))
    return arguments
