"""May what a record says be run and sent?  Its experiment names commands, addresses, and variables whose values are sent.

A record of the user's own, made here, may; any other only if somebody who has read what it would do says so.
"""

from __future__ import annotations

from pathlib import Path

from fireassay.errors import SpecError, refuse
from fireassay.record import origin
from fireassay.record.manifest import read_manifest
from fireassay.spec.deeds import deeds
from fireassay.spec.experiment import Experiment

FOREIGN = "not made by you on this machine and in this folder"


def foreign(record: Path, experiment: Experiment, folder: Path) -> tuple[str, ...]:
    """What a foreign record's experiment would do, a line each; nothing if the record is the user's own."""
    return () if origin.is_own(record, read_manifest(record)) else (deeds(experiment, folder) or ("run its experiment",))


def refuse_foreign(record: Path, experiment: Experiment, folder: Path) -> None:
    """Raises SpecError: the record is foreign; the message says what it would do."""
    if lines := foreign(record, experiment, folder):
        raise refusal(record, lines)


def refusal(record: Path, lines: tuple[str, ...]) -> SpecError:
    """The refusal of a foreign record."""
    listed = "".join(f"\n  {line}" for line in lines)
    fix = f"\nIts experiment would{listed}"
    return refuse(str(record), f"a record {FOREIGN}", "your own, or any with --trust", fix, source=str(record))
