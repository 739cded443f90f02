"""What must an exporter's file declare?

One `EXPORT` per file; its stem is the program's name, with dashes in `assay export --to NAME`.  An exporter is a pure function from a judged
record to the content of files, without clock or random numbers, so that the same record always gives the same files; only `fireassay.api`
writes them.  What needs another program's library, or the network, is a `SENDER` (`fireassay.api.senders`).

No value leaves without its interval, its verdict and the record's digest: take them from `Subject.values` and `Subject.head`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.record.files import Content
from fireassay.reports.documents.record import ReportDocument
from fireassay.reports.exports import values
from fireassay.reports.view import View


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The judged record that is exported."""

    view: View
    options: Mapping[str, str] = field(default_factory=dict)  # as `--option` gives them; every name is one that the plug-in declares

    @property
    def measured(self) -> RecordData:
        """Its tables."""
        return self.view.measured

    @property
    def results(self) -> Results:
        """Its metrics, computed when they are read."""
        return self.view.judgement.results

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The published document, `assay-report/1`."""
        return ReportDocument.of(self.view)

    @cached_property
    def head(self) -> values.Head:
        """The record and its verdict."""
        return values.head(self.document, self.view.kind.name)

    @cached_property
    def values(self) -> tuple[values.ValueRow, ...]:
        """Every metric at every configuration."""
        columns = {
            column.key: {"engine": column.engine, "scenario": column.scenario, "load": column.load, "workers": column.workers}
            for column in self.view.columns
        }
        return tuple(values.rows(self.document, values.labels_of(self.document, columns)))


@dataclass(frozen=True, kw_only=True)
class Added:
    """A file for a folder of the training, if it exists and is that folder."""

    folder: str
    name: str
    content: Content
    foreign: Callable[[Iterable[str]], str]  # of the names in the folder: why it is not the training's; empty: it is


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The files, by path below the folder, and what the program's form could not hold."""

    files: Mapping[str, Content]
    added: tuple[Added, ...] = ()
    notes: tuple[str, ...] = ()  # sentences


@dataclass(frozen=True, kw_only=True)
class Export:
    """A program that reads the files."""

    name: str
    title: str  # display name: "genai-bench"
    summary: str  # one line, for `--help`
    kinds: tuple[str, ...] = ()  # of records; empty: every kind
    options: Mapping[str, str] = field(default_factory=dict)  # name -> its meaning in a line, for messages
    marks: bool = True  # False: its form has no place for the verdict; an INVALID record is named on stderr
    suffix: str = ""  # of a single file, which is replaced by the next record; empty: a folder
    files: Callable[[Subject], Exported]  # raises SpecError: its form cannot hold the record
