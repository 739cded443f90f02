"""What became of requests whose client process died?  Each that was due and has no row gets one, with status lost.

Which were due: everything with a due time of its own up to the end of the load, and of each chain (a stream, a session) the
first request without a row, for it was under way or next.  What would have followed never became due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.record.reader import read_launch
from assay.record.tables import REQUESTS
from assay.traffic import arrivals
from assay.traffic.schedule import KINDS, NONE, PHASES, Schedule

REASON = "the client process that was to send it ended"


def lost_rows(
    path: Path, launch: int, schedule: Schedule, dead: Sequence[int], clients: int, t0_ns: int, end_ns: int
) -> Iterator[tuple[Any, ...]]:
    """The missing rows of table `requests`, of the client processes that died."""
    table = read_launch(path, launch, "requests")[0]
    seen = set(table["request"].to_pylist()) if table is not None else set()
    for client in dead:
        for number in _lost(schedule, client, clients, seen, t0_ns, end_ns):
            yield _row(schedule, launch, client, number, t0_ns, end_ns)


def _lost(schedule: Schedule, client: int, clients: int, seen: set[int], t0_ns: int, end_ns: int) -> Iterator[int]:
    chains: set[tuple[str, int]] = set()  # whose first missing request was found
    for number in arrivals.mine(schedule, client, clients).tolist():
        if number in seen:
            continue
        chain = _chain(schedule, number)
        due = int(schedule.due_ns[number])
        begun = t0_ns > 0 or PHASES[schedule.phase[number]] == "cold"
        if (due == NONE and chain not in chains and begun and _follows_something(schedule, number, seen)) or (due != NONE and begun and t0_ns + due <= end_ns):
            yield number
        if chain is not None:
            chains.add(chain)


def _chain(schedule: Schedule, number: int) -> tuple[str, int] | None:
    if PHASES[schedule.phase[number]] == "cold":
        return ("cold", 0)
    if schedule.session[number] != NONE and schedule.turn[number] > 0:
        return ("session", int(schedule.session[number]))
    if schedule.stream[number] != NONE:
        return ("stream", int(schedule.stream[number]))
    return ("session", int(schedule.session[number])) if schedule.session[number] != NONE else None


def _follows_something(schedule: Schedule, number: int, seen: set[int]) -> bool:
    """Whether the chain got as far as this request: the one before it has a row, or it is the first."""
    chain = _chain(schedule, number)
    for earlier in range(number - 1, -1, -1):
        if _chain(schedule, earlier) == chain:
            return earlier in seen
    return True


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
