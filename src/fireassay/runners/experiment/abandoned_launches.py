"""What happens to a launch whose coordinator died?  It gets its missing row, with status aborted.

For a load, requests that were due are accounted for too (`fireassay.runners.experiment.lost_requests`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.clock import Clock
from fireassay.launchers.support import launch_log
from fireassay.record.folder import RecordFolder
from fireassay.record.launch_rows import launch_row, write_launch
from fireassay.record.unsealed import launch_folders, read_launch
from fireassay.runners.experiment import lost_requests, policy
from fireassay.spec.plan import PlannedLaunch

if TYPE_CHECKING:
    from fireassay.runners.experiment.progress import LaunchRow

REASON = "the coordinator ended during this launch"


def settle(record: RecordFolder, plan: Sequence[PlannedLaunch], clock: Clock) -> list[LaunchRow]:
    """Write the missing rows. Returns all rows of the record in launch order.

    Raises:
        RecordError: a row could not be written.
    """
    rows: list[LaunchRow] = list(record.finished_launches())
    known = {row["launch"] for row in rows}
    for number in launch_folders(record.path):
        if number not in known:
            row = _aborted(number, plan, rows, _begun(record.path, number), clock)
            launch_log.join(record.log_path(number), int(record.experiment.limits.log_mib * (1 << 19)))
            writer = record.writer(number)
            if record.experiment.serving is not None:
                lost_requests.settle(record.path, number, writer)
            write_launch(writer, row, record.path)
            rows.append(row)
    return sorted(rows, key=lambda row: int(row["launch"]))


def _aborted(number: int, plan: Sequence[PlannedLaunch], rows: Sequence[LaunchRow], begun: dict[str, Any], clock: Clock) -> dict[str, Any]:
    # Launches follow the plan's order: one that died before it noted its slot had the first unfinished one.
    waiting = policy.remaining(plan, rows)
    slot = begun.get("slot", waiting[0].slot if waiting else plan[-1].slot)
    return launch_row(
        plan[slot],
        launch=number,
        attempt=policy.attempt_of(slot, rows),
        begin_ns=begun.get("ns", clock.now_ns()),
        end_ns=begun.get("last_ns", clock.now_ns()),
        begin_utc=begun.get("begin_utc", clock.utc().isoformat()),
        status="aborted",
        reason=REASON,
        placement=begun.get("placement", "{}"),
    )


def _begun(path: Path, number: int) -> dict[str, Any]:
    """The coordinator's note at the launch's start, and the launch's last sign of life, up to which its time is billed."""
    import pyarrow.compute as pc

    time_columns = {"events": "ns", "steps": "end_ns", "telemetry": "ns"}
    tables = {name: table for name in time_columns if (table := read_launch(path, number, name)[0]) is not None}
    events = tables["events"].to_pylist() if "events" in tables else []
    begin_event = next((row for row in events if row["kind"] == "launch_begin"), None)
    if begin_event is None:
        return {}
    last_ns = max(pc.max(table[time_columns[name]]).as_py() for name, table in tables.items())
    return {"ns": begin_event["ns"], **json.loads(begin_event["detail"]), "last_ns": last_ns}
