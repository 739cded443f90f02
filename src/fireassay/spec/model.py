"""What do all parts of an experiment share?

Frozen models that reject unknown keys, and common value types.

Which flag of the command line sets a field, and how is its text read if the key's type does not determine it?

The field declares it: `Annotated[int, flag("--seed", "N", "...", run=30)]`.  Nothing else lists flags: parsers, help and messages
derive from here (`fireassay.spec.flags.of_verb`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_S = 1e8  # three years; longer waits overflow the operating system's timers
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def listed(value: object) -> object:
    """Lists (TOML) to tuples (frozen models)."""
    return tuple(value) if isinstance(value, list) else value


Words = Annotated[tuple[str, ...], BeforeValidator(listed)]
Positive = Annotated[float, Field(gt=0.0)]
Seconds = Annotated[float, Field(ge=0.0, le=MAX_S)]
PositiveSeconds = Annotated[float, Field(gt=0.0, le=MAX_S)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]  # never all
WorkerCount = Annotated[int, Field(ge=1, le=100_000)]
WorkerCounts = Annotated[tuple[WorkerCount, ...], BeforeValidator(listed)]


class Model(BaseModel):
    """A frozen part of the experiment that knows all of its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return cls.own_names(value)

    @classmethod
    def own_names(cls, value: Any) -> Any:
        """The table with our names of what another program calls otherwise."""
        return value

    @classmethod
    def complete(cls) -> type[Self]:
        """The same model with the keys that plug-ins add."""
        return cls


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
    entry: str = ""  # the key inside a table of free keys that it sets


def flag(
    name: str,
    metavar: str,
    help: str,
    *,
    read: Callable[[str], Any] | None = None,
    many: bool = False,
    bare: str | None = None,
    default: Any = None,
    entry: str = "",
    **places: int,
) -> Flag:
    """A flag of the named verbs, each with its position in the verb's help: `run=30`."""
    return Flag(name=name, metavar=metavar, help=help, read=read, many=many, bare=bare, default=default, entry=entry, places=places)


OBJECTIVES: Final = {"ttft": "ttft_s", "ttft_visible": "ttft_visible_s", "tpot": "tpot_s", "itl": "itl_s", "e2e": "e2e_s", "e2el": "e2e_s"}
MAX_PLAIN_OBJECTIVE_S: Final = 30.0  # beyond it people mean milliseconds
PRICE_SOURCE: Final = "given as --price"
LONG: Final = ("m", "min", "h")  # units that a limit on a token has by mistake
UNITS: Final = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Unreadable(ValueError):
    """Text that a flag rejects: what is allowed, and how to fix it."""

    def __init__(self, allowed: str, fix: str = "") -> None:
        self.allowed, self.fix = allowed, fix
        super().__init__(allowed)


def seconds(text: str, most: float = 3600.0, prefix: str = "") -> float:
    """ "120s", "2m", "500ms", "1.5" (seconds); beyond `most`, a number without a unit is rather meant as milliseconds."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in UNITS:
        raise Unreadable("a time such as 120s, 2m, 500ms or 1.5 (seconds)")
    if not match[2] and float(match[1]) > most:
        number = f"{prefix}{match[1]}"
        raise Unreadable(f"a time with its unit; without one, seconds up to {most:g}", f"Write {number}ms, or {number}s if that is meant.")
    return float(match[1]) * UNITS[match[2]]


def _limit(name: str, text: str, prefix: str) -> float:
    """A limit of an objective; minutes are asked back unless it is of a whole answer."""
    value = seconds(text, MAX_PLAIN_OBJECTIVE_S, prefix)
    plain = text.strip().rstrip("minh")
    if OBJECTIVES[name] != "e2e_s" and value > MAX_PLAIN_OBJECTIVE_S and text.strip()[len(plain) :] in LONG:
        fix = f"Write {prefix}{plain}ms, or {prefix}{value:g}s if that is meant."
        raise Unreadable(f"a time with its unit; {text} is {value:,.0f} s", fix)
    return value


def with_unit(text: str) -> float:
    """ "10m", "90s": seconds. A bare number could be minutes, or dollars."""
    if text.strip()[-1:].isdigit():
        raise Unreadable("a time with its unit, such as 10m or 90s", "Dollars of a run are --budget-usd.")
    return seconds(text)


def loss(text: str) -> float:
    """ "0.02" or "2%" of a score from 0 to 1."""
    number, sign, rest = text.strip().partition("%")
    with suppress(ValueError):
        if not rest and (value := float(number)) > 0.0 and isfinite(value):
            return value / 100.0 if sign else value
    raise Unreadable("a number above 0 in the score's unit; of a score from 0 to 1 also per cent: 0.02 or 2%")


def slo(text: str) -> dict[str, float]:
    """ "ttft=0.2,tpot=50ms" as keys of serving.objectives; "ttft:200" is milliseconds, as in vLLM's --goodput."""
    limits: dict[str, float] = {}
    joined = re.sub(r"(?<=\d)\s+(?=[a-z]+(?:[\s,]|$))", "", text.lower())  # "500 ms" is one time
    for part in re.split(r"[,\s]+", joined.strip()):
        name, sign, value = re.fullmatch(r"([a-z0-9_]*)([=:]?)(.*)", part).groups()  # type: ignore[union-attr]
        if name not in OBJECTIVES or not sign:
            percentile = re.search(r"(?:^|_)p(\d\d?)(?:_|$)", name)  # a percentile within a time is a share of the requests
            fix = f"For p{percentile[1]}: --attainment {int(percentile[1]) / 100:g}." if percentile else ""
            raise Unreadable(f"NAME=TIME with commas, NAME one of {', '.join(OBJECTIVES)}, as in ttft=0.2,tpot=50ms", fix)
        milliseconds = sign == ":" and re.fullmatch(r"[0-9.]+", value) is not None
        limits[OBJECTIVES[name]] = _limit(name, f"{value}ms" if milliseconds else value, f"{name}{sign}")
    return limits


def header(text: str) -> tuple[str, str]:
    """ "NAME: TEXT" as name and value."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Unreadable('"NAME: TEXT", as in "X-Team: search"; {env:NAME} takes a secret from the environment')
    return name.strip(), value.strip()


def variable(text: str) -> tuple[str, str]:
    """ "NAME=TEXT" as name and value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Unreadable("NAME=TEXT", f"--env {text}=1")
    return name, value


def option(text: str) -> tuple[str, str | int | float | bool]:
    """ "METRIC.NAME=VALUE" as name and value: yes and no, numbers, else text."""
    name, equals, value = text.partition("=")
    if not equals or not all(name.partition(".")):
        raise Unreadable("METRIC.NAME=VALUE, as in rouge_l.stem=yes")
    return name, _typed(value)


def plain_option(text: str) -> tuple[str, str | int | float | bool]:
    """ "NAME=VALUE" as name and value, likewise."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Unreadable("NAME=VALUE, as in shots=5")
    return name, _typed(value)


def _typed(value: str) -> str | int | float | bool:
    known: dict[str, bool] = {"yes": True, "true": True, "no": False, "false": False}
    if value.lower() in known:
        return known[value.lower()]
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value


MAX_LABEL: Final = 80  # characters


def label(text: str) -> str:
    """A short name that a reader sees: of an engine, a version, a GPU."""
    name = text.strip()
    if not name or len(name) > MAX_LABEL or not name.isprintable():
        raise Unreadable(f"a name of 1 to {MAX_LABEL} printable characters, as in vLLM")
    return name


def devices(text: str) -> str:
    """A number of devices, as genai-bench writes it: text."""
    if not re.fullmatch(r"[0-9]{1,6}", text.strip()) or not int(text):
        raise Unreadable("a whole number from 1 to 999999, as in 4")
    return str(int(text))


def in_this_folder(text: str) -> str:
    """A path, absolute from now on; a name without a slash is searched on the PATH."""
    return os.path.abspath(os.path.expanduser(text)) if os.sep in text else text


def number_or_none(text: str) -> float | str:
    """A number, or the word "none"."""
    return text if text == "none" else float(text)
