"""How does the coordinator record its actions?  As rows of `launches` and `events`, in column order."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.record import files
from fireassay.record.declared import EVENTS, LAUNCHES, Table
from fireassay.record.writer import StreamWriter
from fireassay.spec.plan import PlannedLaunch

# the outcome of a first attempt that succeeded, as far as a caller does not give it
_OUTCOME: Final = {"attempt": 0, "begin_utc": "", "status": "ok", "reason": "", "exit_code": None, "restarts": 0, "placement": "{}"}


def table_row(table: Table, **values: Any) -> tuple[Any, ...]:
    """A row in column order; columns without a value are null."""
    return tuple(values.get(name) for name in table.column_names)


def launch_row(planned: PlannedLaunch, **outcome: Any) -> dict[str, Any]:
    """A row of the table `launches`: the plan and its outcome."""
    row = {**_OUTCOME, **vars(planned), **outcome}
    return {name: row[name] for name in LAUNCHES.column_names}


def write_launch(writer: StreamWriter, row: Mapping[str, Any], path: Path) -> None:
    """Write a finished launch's row, and close the coordinator's streams of the launch.

    Raises:
        RecordError: the row could not be written.
    """
    writer.append("launches", table_row(LAUNCHES, **row))
    writer.close()
    check_written(writer, path)


def write_event(writer: StreamWriter, launch: int, kind: str, ns: int, detail: Mapping[str, Any], **rest: Any) -> None:
    """Append an event of the coordinator; it reaches the disk with the next flush."""
    event = {"launch": launch, "ns": ns, "host": platform.node(), "kind": kind, "detail": json.dumps(detail)}
    writer.append("events", table_row(EVENTS, **event, **rest))


def check_written(writer: StreamWriter, path: Path) -> None:
    """Check that everything the writer took has reached the disk. Raises RecordError: it has not."""
    if writer.error is not None:
        raise files.explain(writer.error, path, "write the record")
