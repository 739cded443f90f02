"""Which records does a folder hold, and what is known of each?

A complete record whose verdict is cached is not opened: its seal is checked, and the cache has the rest.  A damaged record is an entry
with its problem and hides no other.

Which verdicts of sealed records are known already, so that listing and comparing records judge nothing twice?

A summary of a judged record (verdict, headline and every main metric with its interval) as strict JSON of known keys and types; anything
else is refused.  One small file per record in the user's cache folder (`fireassay.record.files`), never in the record:

    assay/verdicts/<key>.json

The key is a digest of the record's seal, which changes with any byte of the record, and of everything else that could change its
verdict: the version of Fireassay, its source files (a checkout changes without a new version), the plug-ins of other packages, and the
numeric libraries.  A file that is damaged, foreign, of another key or not a plain file counts as absent.
Cannot tell whether a record still has every byte that it was sealed with; see `survey.intact_seal`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import fireassay
from fireassay.errors import RecordError
from fireassay.estimates.estimate import Estimate
from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.lookup import record_folders, short_name
from fireassay.record.manifest import MAX_MANIFEST
from fireassay.record.reader import judged_from
from fireassay.record.untrusted import paths
from fireassay.reports.page import Tone
from fireassay.reports.pages.record_list import Listed
from fireassay.spec.kind import kinds

if TYPE_CHECKING:
    from fireassay.record.reader import Record

MAX_BYTES: Final = 8 * paths.MIB  # of a file
JUDGING: Final = ("estimates", "frames", "kinds", "metrics", "record", "reports", "spec", "stats", "verdict")  # folders of the source
SOURCES: Final = (".py", ".toml", ".html", ".css", ".js")  # pages of a site are made again when these change
PLUG_INS: Final = ("fireassay.kinds", "fireassay.metrics", "fireassay.verdict.audits", "fireassay.verdict.gates")
NUMERIC: Final = ("numpy", "polars", "scipy")
TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {"str": str, "int": int, "float": (int, float)}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One main metric at one configuration."""

    metric: str
    title: str
    better: str
    configuration: str
    value: Estimate


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A complete record, judged."""

    seal: str
    name: str
    id: str
    created_utc: str
    kind: str
    status: str
    word: str  # of the status, for people
    tone: str
    headline: str
    sentence: str
    work: str  # name of an item, in the plural
    done: int  # launches
    planned: int
    measures: tuple[Measure, ...] = ()


# ---- as JSON ---------------------------------------------------------------------------------------------------------


def to_json(summary: Summary) -> bytes:
    """The summary as JSON; an end of an interval that the data do not bound is null."""
    content = asdict(summary)
    for measure in content["measures"]:
        for end in ("low", "high"):
            if not math.isfinite(measure["value"][end]):
                measure["value"][end] = None
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def from_json(content: bytes) -> Summary:
    """The summary. Raises ValueError unless it has exactly the keys and types of one."""
    found = paths.json_of(content)
    if not isinstance(found, dict) or not isinstance(found.get("measures"), list):
        raise ValueError("it is not the summary of a record")
    if found.get("tone") not in get_args(Tone):
        raise ValueError("it has an unknown tone")
    return Summary(**_typed(Summary, found, "measures"), measures=tuple(map(_measure, found["measures"])))


def _measure(found: object) -> Measure:
    if not isinstance(found, dict) or not isinstance(found.get("value"), dict):
        raise ValueError("it holds a metric without a value")
    value: dict[str, Any] = found["value"]
    launches = value.get("launch_values")
    if not isinstance(launches, list) or not all(type(number) in (int, float) for number in launches):
        raise ValueError("it holds a metric without the values of its launches")
    ends = {"low": -math.inf, "high": math.inf}
    bounded = value | {end: infinite for end, infinite in ends.items() if value.get(end) is None}
    estimate = Estimate(**_typed(Estimate, bounded, "launch_values"), launch_values=tuple(map(float, launches)))
    return Measure(**_typed(Measure, found, "value"), value=estimate)


def _typed(cls: type[Any], found: Mapping[str, Any], besides: str) -> dict[str, Any]:
    """The fields of simple types, exactly as declared."""
    declared = {field.name: str(field.type) for field in fields(cls)}
    if found.keys() != declared.keys():
        raise ValueError(f"its keys are not those of a {cls.__name__.lower()}")
    simple = {name: value for name, value in found.items() if name != besides}
    for name, value in simple.items():
        if not isinstance(value, TYPES[declared[name]]) or isinstance(value, bool):
            raise ValueError(f"{name} is of the wrong type")
    return simple


# ---- the cache -----------------------------------------------------------------------------------------------------


def folder(environ: Mapping[str, str]) -> Path:
    """The folder of the cached verdicts."""
    return files.user_cache(environ) / "verdicts"


def cached(seal: str, at: Path) -> Summary | None:
    """The summary of the record with this seal, if it was judged by the same code."""
    with suppress(OSError, ValueError, RecordError):
        summary = from_json(paths.read(at, f"{key(seal)}.json", MAX_BYTES))
        return summary if summary.seal == seal else None
    return None


def keep(summary: Summary, at: Path) -> None:
    """Keep a summary; a cache that cannot be written, or a summary that JSON cannot hold, is no error."""
    with suppress(OSError, ValueError):
        at.mkdir(parents=True, exist_ok=True)
        paths.replace_at(None, str(at / f"{key(summary.seal)}.json"), to_json(summary), mode=0o600)


def key(seal: str) -> str:
    """Identifies a verdict: of which record, by which code."""
    return hashlib.sha256(f"{seal} {judge_digest()}".encode()).hexdigest()[:40]


@cache
def judge_digest() -> str:
    """Digest of what a verdict depends on besides the record."""
    parts = [fireassay.__version__, platform.python_version(), *_libraries(), *_plug_ins(), *_sources(Path(fireassay.__file__).parent)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _libraries() -> Iterator[str]:
    for name in NUMERIC:
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def _plug_ins() -> Iterator[str]:
    points = entry_points()
    for group in PLUG_INS:
        for point in sorted(points.select(group=group), key=lambda point: point.name):
            yield f"{group} {point.name} {point.value} {point.dist.version if point.dist else ''}"


def _sources(home: Path) -> Iterator[str]:
    """Names, sizes and times of the files that judge: their content without reading it."""
    modules = (str(path) for path in home.glob("*.py"))  # units, text that is printable
    folders = (entry.path for part in JUDGING for entry in paths.walk(home / part) if entry.name.endswith(SOURCES))
    for path in sorted((*modules, *folders)):
        status = os.stat(path)
        yield f"{os.path.relpath(path, home)} {status.st_size} {status.st_mtime_ns}"


# ---- known verdicts --------------------------------------------------------------------------------------------------


EXPERIMENT: Final = "experiment.toml"
NOT_JUDGED: Final = "not judged"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One record of a folder."""

    path: Path
    state: str  # running, complete, failed, interrupted, damaged
    name: str = ""
    id: str = ""
    created_utc: str = ""
    reason: str = ""
    kind: str = ""
    done: int | None = None  # launches
    planned: int | None = None
    seal: str = ""  # of a complete record
    summary: Summary | None = None  # of a complete record that was judged

    @property
    def record(self) -> str:
        """Its short name, which every verb accepts."""
        return short_name(self.path.name, self.name, self.id)

    @property
    def verdict(self) -> str:
        """The word of its verdict in capitals; in lower case its state, if it has none."""
        if self.summary is not None:
            return self.summary.word.upper()
        return NOT_JUDGED if self.state == "complete" else self.state

    @property
    def judgeable(self) -> bool:
        """True if it has yet to be judged."""
        return self.state == "complete" and self.summary is None


def survey(root: Path, cache: Path) -> list[Entry]:
    """The records of a folder, the newest first; only cached verdicts are known. Raises RecordError: the folder cannot be listed."""
    entries = [entry_of(path, cache) for path in record_folders(root)]
    return sorted(entries, key=lambda entry: (entry.created_utc, entry.path.name), reverse=True)


def entry_of(path: Path, cache: Path) -> Entry:
    """What is known of one record without judging it."""
    if (seal := intact_seal(path)) and (summary := cached(seal, cache)) is not None:
        return _of_summary(path, summary)
    from fireassay.record.reader import open_record

    try:
        with judged_from(path):
            return _opened(open_record(path))
    except RecordError as error:
        return Entry(path=path, state="damaged", reason=str(error))


def intact_seal(path: Path) -> str:
    """SHA-256 of the manifest, if that is what SEAL says, the experiment is the sealed one and every file has its sealed size; else empty.

    Sizes instead of digests keep a list cheap; `assay verify` reads every byte.
    """
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecordError):
        manifest = paths.read(path, "manifest.json", MAX_MANIFEST)
        digest = hashlib.sha256(manifest).hexdigest()
        sealed = paths.json_of(manifest)["sealed"]["files"]
        experiment = hashlib.sha256(paths.read(path, EXPERIMENT, MAX_MANIFEST)).hexdigest()
        same = paths.read(path, "SEAL", paths.MIB) == f"{digest}  manifest.json\n".encode() and experiment == sealed[EXPERIMENT]["sha256"]
        if same and all(paths.plain(path, name).lstat().st_size == entry["bytes"] for name, entry in sealed.items()):
            return digest
    return ""


def _of_summary(path: Path, summary: Summary) -> Entry:
    return Entry(
        path=path,
        state="complete",
        name=summary.name,
        id=summary.id,
        created_utc=summary.created_utc,
        kind=summary.kind,
        done=summary.done,
        planned=summary.planned,
        seal=summary.seal,
        summary=summary,
    )


def _opened(record: Record) -> Entry:
    from fireassay.spec.kind import kind_of

    manifest = record.manifest
    done, planned = launches(record)
    return Entry(
        path=record.path,
        state=record.state,
        name=manifest["name"],
        id=manifest["id"],
        created_utc=manifest["created_utc"],
        reason=manifest.get("reason") or "",
        kind=kind_of(record.experiment).name,
        done=done,
        planned=planned,
        seal=record.seal if record.state == "complete" else "",
    )


def launches(record: Record) -> tuple[int, int]:
    """Numbers of planned launches that ended by themselves, successfully or not, and of all planned launches."""
    from fireassay.spec.plan import plan

    rows = record.arrow("launches").select(["slot", "status"]).to_pylist()
    not_made = ("aborted", "skipped")
    return len({row["slot"] for row in rows if row["status"] not in not_made}), len(plan(record.experiment))


# ---- a row of a list -------------------------------------------------------------------------------------------------


def listed(entry: Entry, now: datetime) -> Listed:
    """The row of a record."""
    tone, headline = _headline(entry)
    return Listed(
        record=entry.record,
        name=entry.name,
        kind=entry.kind,
        verdict=entry.verdict,
        tone=tone,
        headline=headline,
        created=entry.created_utc,
        age_s=_age(entry.created_utc, now),
        problem=entry.reason if entry.state == "damaged" else "",
        judged=entry.summary is not None,
    )


def _headline(entry: Entry) -> tuple[Tone, str]:
    if entry.summary is not None:
        return entry.summary.tone, entry.summary.headline  # type: ignore[return-value]
    launches = f"{entry.done} of {entry.planned}"
    match entry.state:
        case "running":
            return "open", f"{launches} launches"
        case "interrupted" if any(kind.observes and kind.name == entry.kind for kind in kinds()):
            return "open", f"cut off: assay report {shell_word(entry.id or entry.record)}"
        case "interrupted":
            return "open", f"{launches}: assay resume {shell_word(entry.id or entry.record)}"
        case "failed":
            return "bad", entry.reason.partition("\n")[0] or f"{launches} launches"
        case "damaged":
            return "bad", f"assay verify {shell_word(entry.record)}"
        case _:
            return "absent", f"assay report {shell_word(entry.record)}"


def _age(created_utc: str, now: datetime) -> float | None:
    """Seconds since a record was begun; None if its date cannot be read or lies ahead."""
    with suppress(ValueError, TypeError, OverflowError):
        begun = datetime.fromisoformat(created_utc)
        seconds = (now - (begun if begun.tzinfo else begun.replace(tzinfo=UTC))).total_seconds()
        return seconds if seconds >= 0.0 else None
    return None
