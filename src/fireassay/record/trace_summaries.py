"""How do the summaries of a launch's traces enter its record?  As `summary.json`, and as rows of `communication` and `collectives`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.record import files
from fireassay.record.folder import RecordFolder
from fireassay.record.unsealed import launch_name

A_STEP: Final = 1_000_000  # call numbers reserved per step, so that a call has the same number on every rank


def folder_of(record: Path, launch: int) -> Path:
    """The folder of a launch's traces."""
    return record.resolve() / "traces" / launch_name(launch)


def write(record: RecordFolder, launch: int, summary: Mapping[str, Any], *, workers: int) -> None:
    """Write a launch's summary, whose `ranks` hold one entry per trace; their `collectives` become rows and leave the summary.

    Raises:
        RecordError: the file cannot be written.
    """
    writer = record.writer(launch)
    for rank in summary["ranks"]:
        for row in _communication(rank, launch):
            writer.append("communication", row)
        for row in _collectives(rank, launch, workers):
            writer.append("collectives", row)
    folder = folder_of(record.path, launch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(folder / "summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    except OSError as error:
        raise files.explain(error, folder, "write the summary of the profile into") from error


def _communication(rank: Mapping[str, Any], launch: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `communication` for steps that have any; a profiler numbers steps from the first it recorded."""
    for step in rank.get("steps", ()):
        if step["communication_ns"]:
            times_ns = (step["communication_ns"], step["exposed_ns"], step["compute_ns"])
            yield (launch, rank["rank"], 0, step["step"], "kineto", *times_ns, step.get("bytes"))


def _collectives(rank: dict[str, Any], launch: int, workers: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `collectives`, removed from the summary: kernels, in separate groups since hooks record the same calls."""
    for call in rank.pop("collectives", ()):
        keys = (launch, rank["rank"], 0, f"{call['group'] or 'unnamed'} (kernels)", call["step"] * A_STEP + call["number"], call["step"])
        size, nbytes = call["size"] or workers, call["bytes"] or 0
        yield (*keys, call["op"], size, nbytes, call["dtype"], "kernel", None, call["begin_ns"], call["end_ns"], None, None, None, "kineto")
