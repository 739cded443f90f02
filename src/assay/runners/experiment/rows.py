"""How does the coordinator write down what it did?  Rows of `launches` and `events` in the order of their columns."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.record import files
from assay.record.declared.launches import EVENTS, LAUNCHES
from assay.record.writer import StreamWriter
from assay.spec.plan import PlannedLaunch


def launch_row(planned: PlannedLaunch, **rest: Any) -> dict[str, Any]:
    """A row of the table `launches`: what was planned, and what came of it."""
    planned_part = {
        "slot": planned.slot,
        "configuration": planned.configuration,
        "workers": planned.workers,
        "block": planned.block,
        "order": planned.order,
        "role": planned.role,
        "seed": planned.seed,
    }
    row = {**planned_part, **rest}
    return {name: row[name] for name in LAUNCHES.column_names}


def write_launch(writer: StreamWriter, row: Mapping[str, Any], path: Path) -> None:
    """Write the row of a launch that has ended, and close the coordinator's streams of it.

    Raises:
        RecordError: it could not be written.
    """
    writer.append("launches", tuple(row[name] for name in LAUNCHES.column_names))
    writer.close()
    check_written(writer, path)


def write_event(writer: StreamWriter, launch: int, kind: str, ns: int, detail: Mapping[str, Any], **rest: Any) -> None:
    """Take an event of the coordinator; it is on the disk after the next flush."""
    row = {
        "launch": launch,
        "ns": ns,
        "duration_ns": None,
        "host": platform.node(),
        "rank": None,
        "incarnation": None,
        "kind": kind,
        "step": None,
        "value": None,
        "detail": json.dumps(detail),
        **rest,
    }
    writer.append("events", tuple(row[name] for name in EVENTS.column_names))


def check_written(writer: StreamWriter, path: Path) -> None:
    """Whether everything that the writer took reached the disk so far.

    Raises:
        RecordError: it did not.
    """
    if writer.error is not None:
        raise files.explain(writer.error, path, "write the record")
