"""Which verdicts of sealed records are known already?

One small file per record in the user's cache folder (`fireassay.record.files`), never in the record:

    assay/verdicts/<key>.json

The key is a digest of the record's seal, which changes with any byte of the record, and of everything else that could change its
verdict: the version of Fireassay, its source files (a checkout changes without a new version), the plug-ins of other packages, and the
numeric libraries.  A file that is damaged, foreign, of another key or not a plain file counts as absent.
Cannot tell whether a record still has every byte that it was sealed with; see `survey.intact_seal`.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import fireassay
from fireassay.errors import RecordError
from fireassay.record import files
from fireassay.record.untrusted import paths

if TYPE_CHECKING:
    from fireassay.cli.support.records.summary import Summary

MOST: Final = 8 * paths.MIB  # of a file
JUDGING: Final = ("estimates", "frames", "kinds", "metrics", "record", "reports", "spec", "stats", "verdict")  # folders of the source
SOURCES: Final = (".py", ".toml", ".html", ".css", ".js")  # pages of a site are made again when these change
PLUG_INS: Final = ("fireassay.kinds", "fireassay.metrics", "fireassay.verdict.audits", "fireassay.verdict.gates")
NUMERIC: Final = ("numpy", "polars", "scipy")


def folder(environ: Mapping[str, str]) -> Path:
    """The folder of the cached verdicts."""
    return files.user_cache(environ) / "verdicts"


def cached(seal: str, at: Path) -> Summary | None:
    """The summary of the record with this seal, if it was judged by the same code."""
    from fireassay.cli.support.records.summary import from_json

    with suppress(OSError, ValueError, RecordError):
        summary = from_json(paths.read(at, f"{key(seal)}.json", MOST))
        return summary if summary.seal == seal else None
    return None


def keep(summary: Summary, at: Path) -> None:
    """Keep a summary; a cache that cannot be written, or a summary that JSON cannot hold, is no error."""
    from fireassay.cli.support.records.summary import to_json

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
    from importlib.metadata import PackageNotFoundError, version

    for name in NUMERIC:
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def _plug_ins() -> Iterator[str]:
    from importlib.metadata import entry_points

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
