"""Where does assay keep what it can make again?  Pulled records, and verdicts of sealed records.

XDG Base Directory Specification: $XDG_CACHE_HOME, else ~/.cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path


def folder(environ: Mapping[str, str], home: Callable[[], Path] = Path.home) -> Path:
    """The folder of all caches; without a home, one in the current folder."""
    base = environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):
        return (Path(base) if base else home() / ".cache") / "assay"
    return Path(".assay-cache")
