"""What happens to a launch whose coordinator died?  It gets its missing row, with status aborted.

For a load, requests that were due are accounted for too.

What happened to requests whose client process died?  Each due request without a row gets one, with status lost.

A request was due if the client noted it on sending (`fireassay.traffic.client.due`), or if its scheduled time is before the
client's end.  Without notes: if its predecessor has ended; successors of a lost request never became due.

If the coordinator dies, its supervisors end the clients: requests in flight are cancelled, due ones not yet sent are unsent, and
no more become due.  `assay resume` finds the launch aborted, adds the missing rows, and repeats it.
The accounting of an aborted launch is therefore as complete as any other, up to its clients' last sign of life, and documents the
load on the server; no metric counts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.clock import Clock
from fireassay.launchers.support import launch_log
from fireassay.record.declared import REQUESTS
from fireassay.record.folder import RecordFolder, launch_row, table_row, write_launch
from fireassay.record.unsealed import launch_folders, launch_name, read_launch
from fireassay.runners.experiment import progress
from fireassay.spec.plan import PlannedLaunch
from fireassay.traffic.arrivals import draws, make
from fireassay.traffic.arrivals.schedule import KINDS, NONE, PHASES, Schedule
from fireassay.traffic.client import due

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

    from fireassay.record.batch_writer import BatchWriter
    from fireassay.runners.experiment.progress import LaunchRow

    Noted = npt.NDArray[np.int64]

REASON = "the coordinator ended during this launch"


def settle(record: RecordFolder, plan: Sequence[PlannedLaunch], clock: Clock) -> list[LaunchRow]:
    """Write the missing rows. Returns all rows of the record in launch order. Raises RecordError: a row could not be written."""
    rows: list[LaunchRow] = list(record.finished_launches())
    known = {row["launch"] for row in rows}
    for number in launch_folders(record.path):
        if number not in known:
            row = _aborted(number, plan, rows, _begun(record.path, number), clock)
            launch_log.join(record.log_path(number), int(record.experiment.limits.log_mib * (1 << 19)))
            writer = record.writer(number)
            if record.experiment.serving is not None:
                settle_requests(record.path, number, writer)
            write_launch(writer, row, record.path)
            rows.append(row)
    return sorted(rows, key=lambda row: int(row["launch"]))


def _aborted(number: int, plan: Sequence[PlannedLaunch], rows: Sequence[LaunchRow], begun: dict[str, Any], clock: Clock) -> dict[str, Any]:
    # Launches follow the plan's order: one that died before it noted its slot had the first unfinished one.
    waiting = progress.remaining(plan, rows)
    slot = begun.get("slot", waiting[0].slot if waiting else plan[-1].slot)
    return launch_row(
        plan[slot],
        launch=number,
        attempt=progress.attempt_of(slot, rows),
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


LOST_REASON = "its client process ended"


def lost_rows(
    path: Path, launch: int, schedule: Schedule, dead: Mapping[int, int], clients: int, begins: Mapping[int, int], load: Path
) -> Iterator[tuple[Any, ...]]:
    """The missing rows of the table `requests`; `dead`: client process -> time of death, on its own clock, as is its begin of the load.

    A begin is 0 if the load had not begun; `load` is the folder with the clients' notes.
    """
    seen = frozenset(number for batch in request_batches(path, launch) for number in batch["request"].to_pylist())
    for client, end_ns in dead.items():
        noted, t0_ns = due.read(load / due.name(client), len(schedule)), begins[client]
        for number in lost(schedule, client, clients, seen, t0_ns, end_ns, noted):
            yield _row(schedule, launch, client, number, _due_ns(schedule, number, t0_ns, end_ns, noted))


def last_request(path: Path, launch: int, table: str = "requests") -> int:
    """The highest request number with a row; -1 if there is none."""
    import pyarrow.compute as pc

    return max((int(pc.max(batch["request"]).as_py()) for batch in request_batches(path, launch, table) if batch.num_rows), default=-1)


def request_batches(path: Path, launch: int, table: str = "requests") -> Iterator[pyarrow.RecordBatch]:
    """The clients' rows of a launch, batch by batch."""
    from fireassay.record.streams import batches

    return batches(path, launch_name(launch), table)


def lost(
    schedule: Schedule, client: int, clients: int, seen: frozenset[int], t0_ns: int, end_ns: int, noted: Noted | None = None
) -> Iterator[int]:
    """The numbers of a client's due requests without a row, ascending."""
    before = draws.predecessors(schedule)
    first = True  # the first cold request has no predecessor
    for number in draws.mine(schedule, client, clients).tolist():
        due, cold = int(schedule.due_ns[number]), PHASES[schedule.phase[number]] == "cold"
        if number in seen:
            was_due = False
        elif due != NONE:
            was_due = t0_ns > 0 and t0_ns + due <= end_ns
        elif noted is not None:
            was_due = noted[number] > 0
        else:
            preceded = int(before[number]) in seen or (cold and first and int(before[number]) == NONE)
            was_due = preceded and (cold or t0_ns > 0)
        first = first and not cold
        if was_due:
            yield number


def _due_ns(schedule: Schedule, number: int, t0_ns: int, end_ns: int, noted: Noted | None) -> int:
    if noted is not None and noted[number]:
        return int(noted[number])
    due = int(schedule.due_ns[number])
    return t0_ns + due if due != NONE else end_ns


def _row(schedule: Schedule, launch: int, client: int, number: int, due_ns: int) -> tuple[Any, ...]:
    return table_row(
        REQUESTS,
        launch=launch,
        request=number,
        client=client,
        phase=PHASES[schedule.phase[number]],
        kind=KINDS[schedule.kind[number]],
        stream=_known(schedule.stream[number]),
        session=_known(schedule.session[number]),
        turn=_known(schedule.turn[number]),
        transport="",
        scheduled_ns=due_ns,
        status="lost",
        error=LOST_REASON,
        **{name: [] for name in ("chunk_ns", "chunk_kind", "chunk_chars", "logprobs", "chunk_uncertainty_ns")},
        bytes_out=0,
        bytes_in=0,
    )


def _known(value: Any) -> int | None:
    return None if value == NONE else int(value)


# ---- after the coordinator's death -----------------------------------------------------------------------------------


def settle_requests(path: Path, launch: int, writer: BatchWriter) -> None:
    """Write the rows of lost requests and of arrivals in the dead coordinator's stead. Requires that all clients have ended.

    Idempotent.
    """
    load = path / "streams" / launch_name(launch) / "load"
    job, schedule = _read(load)
    if schedule is None:
        return  # it died before any request could be sent
    begins = {client: _load_begun(load, client) for client in range(job["clients"])}
    dead = {client: _last_sign_ns(path, launch, load, client, schedule) for client in range(job["clients"])}
    for row in lost_rows(path, launch, schedule, dead, job["clients"], begins, load):
        writer.append("requests", row)
    writer.flush()
    begin = 1 + last_request(path, launch, "arrivals")
    end = len(schedule) if job["open"] else 1 + last_request(path, launch)
    for batch in make.batches(schedule, launch, end, begin):
        writer.append_batch("arrivals", batch)


def _read(load: Path) -> tuple[dict[str, Any], Schedule | None]:
    try:
        job: dict[str, Any] = json.loads((load / "job.json").read_bytes())
        return job, make.read(load / "schedule.arrow")
    except (OSError, ValueError):  # the job is written last, atomically
        return {}, None


def _load_begun(load: Path, client: int) -> int:
    """Start of the load on a client's clock; 0 if it did not begin."""
    own = load / f"begin-{client}"  # of a client on another host
    try:
        return int((own if own.exists() else load / "begin").read_text())
    except (OSError, ValueError):
        return 0


def _last_sign_ns(path: Path, launch: int, load: Path, client: int, schedule: Schedule) -> int:
    """Last sign of life of a client; requests due by then without a row are lost. 0: never."""
    import pyarrow.compute as pc

    noted = due.read(load / due.name(client), len(schedule))
    last = 0 if noted is None else int(noted[:-1].max(initial=0))
    for batch in request_batches(path, launch):
        rows = batch.filter(pc.equal(batch["client"], client))
        last = max([last, *(pc.max(rows[name]).as_py() or 0 for name in ("scheduled_ns", "done_ns"))])
    return last
