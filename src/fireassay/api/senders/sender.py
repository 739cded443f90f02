"""What must a sender's file declare?

One `SENDER` per file; its stem is the program's name, with dashes in `assay export --to NAME`.  A name that is an exporter's too (`prometheus`)
is sent if the destination is an address, else written.  A sender loads its library inside of `send`; `needs` says which package that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fireassay.printable import one_line
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports.export import Subject


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Where the numbers are now."""

    where: str  # a path or an address, to be printed
    new: bool = True  # False: this record was there already, and nothing was changed
    notes: tuple[str, ...] = ()  # sentences


def training_note(run: str, why: str | None) -> str:
    """What became of a run that the training made; `why` it was left alone, None: it has the verdict now."""
    return redact(one_line(f"the training's run {run} {'has the verdict too' if why is None else f'is left alone: {why}'}."))


@dataclass(frozen=True, kw_only=True)
class Sender:
    """A program that is spoken to."""

    name: str
    title: str  # display name: "MLflow"
    summary: str  # one line, for `--help`
    kinds: tuple[str, ...] = ()  # of records; empty: every kind
    options: Mapping[str, str] = field(default_factory=dict)  # name -> its meaning in a line, for messages
    needs: str = ""  # the module of its library; empty: none
    extra: str = ""  # the extra of Fireassay that installs it
    send: Callable[[Subject, Path, str], Sent]  # of the record's folder, to a destination (empty: the program's default); raises AssayError
