"""What must a reader of another load generator's results declare, and what can a file of results say?

One file holds one `FOREIGN`; its stem is the tool's name.  A reader turns a file into `Load`s: what was asked, as far as the file
says it, the requests one by one (`Row`), and the numbers that the tool itself reported.  What a file does not say stays None, and
the names of conditions that it does say stand in `Load.said`; all others are unknown and can be compared with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from assay.record.secrets.redact import redact
from assay.runners.foreign.support.documents import NOTHING, Place, Words
from assay.units import NS_PER_S

Clock = Literal["sent", "scheduled"]  # where the tool's latencies begin
Times = Literal["whole", "sampled", "none"]  # whole: every request has its time of day; sampled: some requests are left out
LONGEST_S: Final = 1e8
LARGEST: Final = 2**53  # whole numbers up to this survive JSON
LONGEST_TEXT: Final = 500  # characters of an error, as in other records
UNSAID: Final = "not said by the file"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A request as the file tells it. Times with `_ns` count from `sent_ns`; None: the file does not say.

    `sent_ns` is on the tool's own clock; None where the file holds no times of day.
    """

    status: str = "ok"
    sent_ns: int | None = None
    due_before_ns: int = 0  # how long before it was sent it had been due
    first_ns: int | None = None
    visible_ns: int | None = None
    last_ns: int | None = None
    done_ns: int | None = None
    chunks_ns: Sequence[int] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tokens_cached: int | None = None
    counted_in: int | None = None  # by the tool's own tokenizer
    counted_out: int | None = None
    phase: str = "main"
    session: int | None = None
    turn: int | None = None
    http_status: int | None = None
    error: str | None = None
    finish_reason: str | None = None
    text: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A number that the tool itself printed, and the metric of ours that is nearest to it."""

    name: str
    value: float
    unit: str  # ms, s, 1/s, count, tokens, fraction
    ours: str = ""  # name of a metric; empty: none is near
    same: bool = False  # whether the definitions are the same, so that the numbers must agree


@dataclass(frozen=True, kw_only=True)
class Load:
    """One run of the tool: what becomes a launch."""

    file: str
    kind: Literal["concurrency", "rate", ""]  # what `load` counts; empty: the arrivals say it
    load: float | None = None
    scenario: str = "dataset"
    serving: Mapping[str, Any] = field(default_factory=dict)  # keys below [serving], without loads and scenarios
    backend: str = ""
    url: str = ""
    conditions: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    said: frozenset[str] = frozenset()  # names of conditions (docs/reference/conditions.md) that the file tells
    rows: Callable[[], Iterator[Row]] | None = None  # None: the file holds totals only
    times: Times = "none"
    clock: Clock | None = None  # default: the tool's
    begin_utc: str = ""  # ISO 8601; empty: not said
    duration_s: float | None = None
    reported: tuple[Reported, ...] = ()
    missing: tuple[str, ...] = ()  # sentences: what the file lacks, beside what the tool always leaves out
    doubts: tuple[str, ...] = ()  # sentences: why the file itself should not be believed
    version: str = ""  # the tool's


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A tool whose results can be imported."""

    name: str
    title: str  # as people call it: "vLLM bench serve"
    files: str  # which files of it are read, for help and errors
    clock: Clock
    # first_token, end, tokens, connection, stamps, left_out: what its numbers mean
    meanings: Mapping[str, str]
    missing: tuple[str, ...]  # sentences: what its files never say
    recognises: Callable[[str, str], bool]  # (a file's name, its beginning) -> whether the tool wrote it
    read: Callable[[Path, ExitStack], Sequence[Load]]  # raises SpecError; the stack closes what the rows need
    # further files that `read` looks at, if they are there
    beside: Callable[[Path], tuple[Path, ...]] = lambda path: ()
    chosen: Callable[[Sequence[Path]], Sequence[Path]] = lambda paths: paths  # of a folder's files those to be read


# ---- values of a file ------------------------------------------------------------------------------------------------


def mapping(value: object, place: Place) -> Mapping[str, Any]:
    """An object. Raises SpecError for anything else."""
    if not isinstance(value, Mapping):
        raise place.wrong(value if value is not None else NOTHING, "an object")
    return value


def inner(value: object, *keys: str) -> Mapping[str, Any]:
    """An object below an object; empty where there is none."""
    found: object = value
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def number(row: Mapping[str, Any], key: str, place: Place, *, least: float = 0.0, most: float = math.inf) -> float | None:
    """A finite number in a range; None where it is null or left out. Raises SpecError for anything else."""
    value = row.get(key)
    if value is None:
        return None
    fine = isinstance(value, int | float) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or not least <= value <= most:
        limit = f" up to {most:g}" if math.isfinite(most) else ""
        raise place.at(key).wrong(value, f"a number of at least {least:g}{limit}, or null")
    return float(value)


def nanoseconds(row: Mapping[str, Any], key: str, place: Place, unit_s: float = 1.0) -> int | None:
    """A duration, given in units of `unit_s` seconds."""
    value = number(row, key, place, most=LONGEST_S / unit_s)
    return None if value is None else round(value * unit_s * NS_PER_S)


def whole(row: Mapping[str, Any], key: str, place: Place) -> int | None:
    """A count of at least 0; None where it is null or left out."""
    value = row.get(key)
    if value is None:
        return None
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value != int(value) or not 0 <= value <= LARGEST:
        raise place.at(key).wrong(value, "a whole number of at least 0, or null")
    return int(value)


def text(row: Mapping[str, Any], key: str, place: Place, longest: int = LONGEST_TEXT) -> str | None:
    """Words without secrets, cut; None where they are null, empty or left out."""
    value = row.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise place.at(key).wrong(value, "a text, or null")
    return clean(value, longest)


def clean(words: str, longest: int = LONGEST_TEXT) -> str:
    """Words from a file as a record may hold them: no secrets, no half characters, no NUL, not too long."""
    told = words[: 4 * longest].encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return redact(told)[:longest]


def answer(row: Mapping[str, Any], key: str, place: Place) -> str | None:
    """An answer's text as it is."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise place.at(key).wrong(value, "a text, or null")
    return value.encode("utf-8", "replace").decode()


def listed(row: Mapping[str, Any], key: str, place: Place) -> list[Any]:
    """A list; empty where it is null or left out."""
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise place.at(key).wrong(value, "a list, or null")
    return value


def numbers_of(*sources: tuple[Mapping[str, Any], str, str, str, str, bool]) -> Iterator[Reported]:
    """(object, key, name, unit, ours, same) -> what the tool reported, where it is a finite number."""
    for source, key, name, unit, ours, same in sources:
        value = source.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield Reported(name=name, value=float(value), unit=unit, ours=ours, same=same)


def address(value: object) -> str:
    """scheme://host:port of a URL; empty if it is none. Who may use it, and what stands behind it, is left out."""
    if not isinstance(value, str):
        return ""
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = parts.hostname or ""
    plain = all(char.isalnum() or char in "-._" for char in host)
    return f"{parts.scheme}://{host}{port}" if parts.scheme in ("http", "https") and host and plain else ""


def failure(error: str | None, code: int | None = None) -> str:
    """The class of a failed request, by its HTTP status or the words of its error."""
    if code is not None and 400 <= code <= 599:
        return "4xx" if code < 500 else "5xx"
    words = (error or "").lower()
    for status, marks in _FAILURES.items():
        if any(mark in words for mark in marks):
            return status
    return "error"


_FAILURES: Final[Mapping[str, tuple[str, ...]]] = {
    "cancelled": ("cancel",),
    "timeout": ("timeout", "timed out"),
    "refused": ("refused", "cannot connect", "connect call failed"),
    "reset": ("reset", "disconnected", "broken pipe", "closed by", "payload is not completed"),
    "malformed": ("jsondecode", "decode error", "invalid json"),
}


def lengths_agree(columns: Mapping[str, int], place: Place) -> int:
    """The length of lists that stand side by side. Raises SpecError naming those that differ."""
    if len(set(columns.values())) > 1:
        said = ", ".join(f"{name} {length:,}" for name, length in columns.items())
        raise place.wrong(Words(f"lists of different lengths: {said}"), "one element of each list for each request")
    return next(iter(columns.values()), 0)


def first(values: Iterable[str]) -> str:
    """The first text that is not empty."""
    return next((value for value in values if value), "")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A record that was made from foreign results."""

    path: Path
    tool: str
    title: str
    configurations: tuple[str, ...]
    launches: int
    requests: int
    failed: int
    has_requests: bool  # False: the file holds totals only
    missing: tuple[str, ...]
    doubts: tuple[str, ...]
    unit: str = "requests"
