"""How does the coordinator record its actions?  As rows of `launches` and `events`, in column order."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fireassay.record import files
from fireassay.record.declared.launches import EVENTS, LAUNCHES
from fireassay.record.writer import StreamWriter
from fireassay.spec.plan import PlannedLaunch


def launch_row(planned: PlannedLaunch, **rest: Any) -> dict[str, Any]:
    """A row of the table `launches`: the plan and its outcome."""
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
    """Write a finished launch's row, and close the coordinator's streams of the launch.

    Raises:
        RecordError: the row could not be written.
    """
    writer.append("launches", tuple(row[name] for name in LAUNCHES.column_names))
    writer.close()
    check_written(writer, path)


def write_event(writer: StreamWriter, launch: int, kind: str, ns: int, detail: Mapping[str, Any], **rest: Any) -> None:
    """Take an event of the coordinator; it reaches the disk with the next flush."""
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
    """Check that everything the writer took has reached the disk.

    Raises:
        RecordError: it has not.
    """
    if writer.error is not None:
        raise files.explain(writer.error, path, "write the record")
