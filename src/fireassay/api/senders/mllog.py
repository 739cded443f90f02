"""How does a training become `:::MLLOG` lines, as `assay mlperf export` writes them?  A result file for each launch, in a new folder.

The lines have no place for an interval or a verdict: an INVALID record is said to be one.
"""

from __future__ import annotations

from pathlib import Path

from fireassay.api.mlperf import Submission, lines_of
from fireassay.api.senders.sender import Sender, Sent
from fireassay.record.files import fill_folder
from fireassay.reports.exports.export import Subject


def send(subject: Subject, path: Path, destination: str) -> Sent:
    """Write the files. Raises SpecError: the record has no such lines, or the folder holds something else."""
    folder = Path(destination or f"{path.name}-mllog")
    lines = lines_of(str(path.resolve()), Submission(**subject.options), path.parent)
    standing = subject.head.standing
    notes = (f"this record is {standing.upper()}, which no :::MLLOG line can say: assay report {path.name}.",) if standing else ()
    return Sent(where=str(folder), new=fill_folder("--out", folder, lines), notes=notes)


SENDER = Sender(
    name="mllog",
    title="MLPerf's log",
    summary=":::MLLOG lines, as `assay mlperf export` writes them",
    kinds=("training",),
    options={"benchmark": "the benchmark, as --benchmark of assay mlperf", "division": "closed or open"},
    send=send,
)
