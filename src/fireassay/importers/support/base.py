"""What must an importer of another load generator declare, and what can a result file contain?

One module holds one `FOREIGN`; its stem is the tool's name.  A reader turns a file into `Load`s: the settings as far as the file
gives them, the single requests (`RequestRow`), and the numbers that the tool itself reported.  Missing values stay None, and `Load.stated`
names the conditions that the file gives; all others are unknown and comparable with nothing.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeGuard
from urllib.parse import urlsplit

from fireassay import clock as clocks
from fireassay.importers.support.documents import NOTHING, Place, Words
from fireassay.record import files, folder
from fireassay.record.folder import RecordFolder
from fireassay.record.mllog import Entry
from fireassay.record.seal import plan_signature
from fireassay.record.secrets.redact import redact
from fireassay.spec.experiment import Experiment
from fireassay.units import NS_PER_S

Clock = Literal["sent", "scheduled"]  # where the tool's latencies begin
Times = Literal["whole", "sampled", "none"]  # whole: every request has a wall-clock time; sampled: some requests are missing
MAX_S: Final = 1e8
MAX_NAME_LENGTH: Final = 80
MAX_INTEGER: Final = 2**53  # integers up to here survive JSON
GREATEST: Final = sys.float_info.max  # JSON's integers have no limit; math.isfinite raises OverflowError above this
MAX_TEXT_LENGTH: Final = 500  # characters of an error, as in other records
UNSAID: Final = "not said by the file"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRow:
    """A request as the file describes it. `_ns` times count from `sent_ns`; None: not in the file.

    `sent_ns` is on the tool's own clock; None if the file holds no wall-clock times.
    """

    status: str = "ok"
    sent_ns: int | None = None
    due_before_ns: int = 0  # time from due to sent
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
    """A number that the tool reported, and assay's nearest metric."""

    name: str
    value: float  # NaN: the file has no finite number there
    unit: str  # ms, s, 1/s, count, tokens, fraction
    ours: str = ""  # name of a metric; empty if none is close
    same: bool = False  # whether the definitions are equal, so that the numbers must agree


@dataclass(frozen=True, kw_only=True)
class Load:
    """One run of the tool, which becomes a launch."""

    file: str
    kind: Literal["concurrency", "rate", ""]  # what `load` counts; empty: given by the arrivals
    load: float | None = None
    scenario: str = "dataset"
    serving: Mapping[str, Any] = field(default_factory=dict)  # keys below [serving], without loads and scenarios
    backend: str = ""
    url: str = ""
    conditions: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    stated: frozenset[str] = frozenset()  # conditions (docs/reference/conditions.md) that the file gives
    rows: Callable[[], Iterator[RequestRow]] | None = None  # None: the file holds totals only
    times: Times = "none"
    clock: Clock | None = None  # default: the tool's
    begin_utc: str = ""  # ISO 8601; empty if unknown
    duration_s: float | None = None
    reported: tuple[Reported, ...] = ()
    missing: tuple[str, ...] = ()  # sentences: what the file lacks, besides what the tool never saves
    doubts: tuple[str, ...] = ()  # sentences: why the file should not be trusted
    version: str = ""  # the tool's
    entries: tuple[Entry, ...] = ()  # MLPerf's log lines, kept as they are


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A tool whose results can be imported."""

    name: str
    title: str  # display name: "vLLM bench serve"
    files: str  # which of its files are read, for help and errors
    clock: Clock
    # definitions of its numbers, by key: first_token, end, tokens, connection, stamps, left_out
    meanings: Mapping[str, str]
    missing: tuple[str, ...]  # sentences: what its files never contain
    recognises: Callable[[str, str], bool]  # (file name, its beginning) -> whether the tool wrote it
    read: Callable[[Path, ExitStack], Sequence[Load]]  # raises SpecError; the stack closes the rows' resources
    # further files that `read` uses if they exist
    beside: Callable[[Path], tuple[Path, ...]] = lambda path: ()
    chosen: Callable[[Sequence[Path]], Sequence[Path]] = lambda paths: paths  # selects the files to read from a folder


# ---- values in a file ------------------------------------------------------------------------------------------------


def mapping(value: object, place: Place) -> Mapping[str, Any]:
    """An object. Raises SpecError for anything else."""
    if not isinstance(value, Mapping):
        raise place.wrong(value if value is not None else NOTHING, "an object")
    return value


def inner(value: object, *keys: str) -> Mapping[str, Any]:
    """A nested object; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def is_number(value: object) -> TypeGuard[float]:
    """True if it is a finite number, and no Boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -GREATEST <= value <= GREATEST


def number(row: Mapping[str, Any], key: str, place: Place, *, least: float = 0.0, most: float = math.inf) -> float | None:
    """A finite number in a range; None if null or missing. Raises SpecError for anything else."""
    value = row.get(key)
    if value is None:
        return None
    if not is_number(value) or not least <= value <= most:
        limit = f" up to {most:g}" if math.isfinite(most) else ""
        raise place.at(key).wrong(value, f"a number of at least {least:g}{limit}, or null")
    return float(value)


def nanoseconds(row: Mapping[str, Any], key: str, place: Place, unit_s: float = 1.0) -> int | None:
    """A duration in nanoseconds, from units of `unit_s` seconds."""
    value = number(row, key, place, most=MAX_S / unit_s)
    return None if value is None else round(value * unit_s * NS_PER_S)


def whole(row: Mapping[str, Any], key: str, place: Place) -> int | None:
    """An integer >= 0; None if null or missing."""
    value = row.get(key)
    if value is None:
        return None
    if not is_number(value) or value != int(value) or not 0 <= value <= MAX_INTEGER:
        raise place.at(key).wrong(value, "a whole number of at least 0, or null")
    return int(value)


def text(row: Mapping[str, Any], key: str, place: Place, longest: int = MAX_TEXT_LENGTH) -> str | None:
    """A redacted, truncated string; None if null, empty or missing."""
    value = answer(row, key, place)
    return clean(value, longest) if value else None


def clean(words: str, longest: int = MAX_TEXT_LENGTH) -> str:
    """A string from a file as a record may hold it: redacted and truncated, without lone surrogates or NUL."""
    valid = words[: 4 * longest].encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return redact(valid)[:longest]


def answer(row: Mapping[str, Any], key: str, place: Place) -> str | None:
    """A response's text, verbatim."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise place.at(key).wrong(value, "a string, or null")
    return value.encode("utf-8", "replace").decode()


def listed(row: Mapping[str, Any], key: str, place: Place) -> list[Any]:
    """A list; empty if null or missing."""
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise place.at(key).wrong(value, "a list, or null")
    return value


def reported(source: Mapping[str, Any], key: str, name: str, unit: str, ours: str = "", same: bool = False) -> Iterator[Reported]:
    """The tool's number at `key`; NaN for what is no finite number, which is named among the doubts and left out."""
    value = source.get(key)
    if value is not None:
        yield Reported(name=name, value=float(value) if is_number(value) else math.nan, unit=unit, ours=ours, same=same)


def address(value: object) -> str:
    """scheme://host:port of a URL, without credentials and path; empty if it is not a URL."""
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


def time_of_day(seconds: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def failure(error: str | None, code: int | None = None) -> str:
    """The class of a failed request, from its HTTP status or error message."""
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
    """The common length of parallel lists. Raises SpecError naming those that differ."""
    if len(set(columns.values())) > 1:
        lengths = ", ".join(f"{name} {length:,}" for name, length in columns.items())
        raise place.wrong(Words(f"lists of different lengths: {lengths}"), "one element per request in each list")
    return next(iter(columns.values()), 0)


def record_name(proposed: str, fallback: str, index: int, of: int) -> str:
    """The name of one of several records: letters, digits, dot, dash, underscore."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", proposed).strip("-._") or fallback
    ending = f"-{index + 1}" if of > 1 else ""
    return f"{plain[: MAX_NAME_LENGTH - len(ending)]}{ending}"


@contextmanager
def new_record(root: Path, experiment: Experiment, clock: clocks.Clock, name: str = "") -> Iterator[RecordFolder]:
    """A record to fill, which is removed if the body raises. `name`: of its folder, if it is not to be a new one."""
    record = folder.create(root, experiment, plan_signature(experiment), clock=clock, name=name)
    try:
        yield record
    except BaseException:
        try:
            record.finish("interrupted")  # closes its streams and releases its lock
        finally:
            files.remove_tree(record.path)
        raise


def first(values: Iterable[str]) -> str:
    """The first non-empty string."""
    return next((value for value in values if value), "")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A record made from foreign results."""

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
