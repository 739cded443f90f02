"""What became of requests whose client process died?  Each that was due and has no row gets one, with status lost.

Due were: everything with a due time of its own up to the end of the load, and whatever follows a request that has ended.
What would have followed a lost request never became due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.record.reader import launch_name
from assay.record.tables import REQUESTS
from assay.traffic import arrivals_shares
from assay.traffic.schedule import KINDS, NONE, PHASES, Schedule

if TYPE_CHECKING:
    import pyarrow

REASON = "the client process that was to send it ended"


def lost_rows(
    path: Path, launch: int, schedule: Schedule, dead: Sequence[int], clients: int, t0_ns: int, end_ns: int
) -> Iterator[tuple[Any, ...]]:
    """The missing rows of table `requests`, of the client processes that died; `t0_ns` is 0 if the load had not begun."""
    seen = frozenset(number for batch in answered(path, launch) for number in batch["request"].to_pylist())
    for client in dead:
        for number in lost(schedule, client, clients, seen, t0_ns, end_ns):
            yield _row(schedule, launch, client, number, t0_ns, end_ns)


def last_request(path: Path, launch: int) -> int:
    """The highest number of a request that has a row; -1 if none has."""
    import pyarrow.compute as pc

    return max(
        (int(pc.max(batch["request"]).as_py()) for batch in answered(path, launch) if batch.num_rows), default=-1
    )


def answered(path: Path, launch: int) -> Iterator[pyarrow.RecordBatch]:
    """What the clients have written of a launch, batch by batch."""
    from assay.record.salvage import batches

    return batches(path, launch_name(launch), "requests")


def lost(schedule: Schedule, client: int, clients: int, seen: frozenset[int], t0_ns: int, end_ns: int) -> Iterator[int]:
    """The numbers of the requests of a client process that were due and have no row, ascending."""
    before = arrivals_shares.predecessors(schedule)
    first = True  # of the cold requests nothing precedes the first one
    for number in arrivals_shares.mine(schedule, client, clients).tolist():
        due, cold = int(schedule.due_ns[number]), PHASES[schedule.phase[number]] == "cold"
        begun = cold or t0_ns > 0
        preceded = int(before[number]) in seen or (cold and first and int(before[number]) == NONE)
        was_due = begun and (preceded if due == NONE else t0_ns + due <= end_ns)
        first = first and not cold
        if was_due and number not in seen:
            yield number


def _row(schedule: Schedule, launch: int, client: int, number: int, t0_ns: int, end_ns: int) -> tuple[Any, ...]:
    due = int(schedule.due_ns[number])
    row: dict[str, Any] = dict.fromkeys(REQUESTS.column_names) | {
        "launch": launch, "request": number, "client": client, "phase": PHASES[schedule.phase[number]],
        "kind": KINDS[schedule.kind[number]], "stream": _known(schedule.stream[number]), "session": _known(schedule.session[number]),
        "turn": _known(schedule.turn[number]), "transport": "", "scheduled_ns": t0_ns + due if due != NONE else end_ns,
        "status": "lost", "error": REASON, "chunk_ns": [], "chunk_kind": [], "chunk_chars": [], "logprobs": [],
        "bytes_out": 0, "bytes_in": 0,
    }  # fmt: skip
    return tuple(row[name] for name in REQUESTS.column_names)


def _known(value: Any) -> int | None:
    return None if value == NONE else int(value)
