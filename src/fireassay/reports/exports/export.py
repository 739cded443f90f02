"""What must an exporter's file declare?

One `EXPORT` per file; its stem is the program's name, and its flag of `assay export` with dashes.  An exporter is a pure function from a
record and its metrics to the content of files; only `fireassay.cli` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The files, by path below the folder, and what the program's form could not hold."""

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()  # sentences


@dataclass(frozen=True, kw_only=True)
class Export:
    """A program that reads the files."""

    name: str
    title: str  # display name: "genai-bench"
    summary: str  # one line, for `--help`
    kinds: tuple[str, ...]  # of records
    files: Callable[[RecordData, Results], Exported]  # raises SpecError: its form cannot hold the record
