"""Which verdicts of sealed records are known already, so that listing and comparing records judge nothing twice?

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
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, Final, get_args

import fireassay
from fireassay.errors import RecordError
from fireassay.estimates.estimate import Estimate
from fireassay.record import files
from fireassay.record.untrusted import paths, strict_json
from fireassay.reports.page import Tone

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
    found = strict_json.json_of(content)
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
