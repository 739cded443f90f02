"""How far is a run that another process makes, on this host or on another that shares its record's folder?"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock, SystemClock
from fireassay.errors import RecordError
from fireassay.record.live import heartbeat
from fireassay.record.reader import Record, open_record
from fireassay.record.unsealed import launch_folders, launch_name, read_launch
from fireassay.reports.pages.run_state import RunState
from fireassay.runners.experiment.progress import FAILED, FINAL, RunProgress, from_json
from fireassay.runners.launching import watch
from fireassay.spec.plan import plan

POLL_S: Final = 0.5
LINES: Final = 5  # of output
TAIL: Final = 4096
SILENT: Final = "silent"  # of a RunState
KILLED: Final = "its process ended without a word: killed, or its machine went down"


def look(path: Path, clock: Clock | None = None) -> tuple[RunState, RunProgress | None]:
    """The state of a record's run, and its progress while it runs. Watches a heartbeat on another host for some seconds. Raises RecordError: not a record."""
    record = open_record(path)
    manifest = record.manifest
    state, owner = record.state, manifest["coordinator"]
    if not record.sealed and manifest["state"] == "running" and owner["host"] != socket.gethostname():
        state = "running" if heartbeat.moves(path, clock=clock) else SILENT
        record = open_record(path)  # it may have ended meanwhile
        state = record.state if record.sealed else state
    rows = _rows(record)
    progress = _progress(record, heartbeat.read(path) or {}, rows) if state == "running" else None
    finished = {row["slot"]: row["status"] for row in rows if row["status"] in FINAL}
    seen = RunState(
        record=str(path),
        state=state,
        reason=str(manifest["reason"]) or (KILLED if state == "interrupted" else ""),
        host=str(owner["host"]),
        pid=int(owner["pid"]),
        job=_job(manifest),
        done=len(finished),
        failed=sum(status in FAILED for status in finished.values()),
        planned=len(plan(record.experiment)),
        last_sign_s=heartbeat.age_s(path, clock),
        output=_output(path, progress),
        allocations=tuple(entry for entry in manifest.get("allocations") or () if isinstance(entry, dict)),
        **(_so_far(progress) if progress is not None else {}),
    )
    return seen, progress


def _so_far(progress: RunProgress) -> dict[str, Any]:
    running = progress.running
    launch = running and {
        "configuration": running.planned.configuration,
        "round": running.planned.block,
        "launch": running.number,
        "elapsed_s": running.elapsed_s,
        "steps": running.steps,
        "restarts": running.incarnation,
    }
    return {"adaptive": progress.adaptive, "waiting": progress.waiting, "seconds_left": progress.seconds_left, "running": launch}


def _rows(record: Record) -> Sequence[Mapping[str, Any]]:
    if record.sealed:
        return record.table("launches").to_dicts()
    tables = (read_launch(record.path, launch, "launches")[0] for launch in launch_folders(record.path))
    return [row for table in tables if table is not None for row in table.to_pylist()]


def _progress(record: Record, beat: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> RunProgress | None:
    with suppress(LookupError, TypeError, ValueError):
        return from_json(beat, record.path, plan(record.experiment), rows)
    return None


def _job(manifest: Mapping[str, Any]) -> str:
    before = (manifest.get("environment") or {}).get("before") or {}
    facts = before.get("allocation") or manifest.get("job") or {}
    engine, job = facts.get("engine"), facts.get("job_id")
    return f"{str(engine).capitalize()} job {job}" if engine and job else ""


def _output(path: Path, progress: RunProgress | None) -> tuple[str, ...]:
    files = [path / "reports" / "console.txt"]
    if progress is not None and progress.running is not None:
        files = [*sorted((path / "logs").glob(f"{launch_name(progress.running.number)}*.log")), *files]
    for file in files:
        if not file.is_symlink() and (lines := [line for line in watch.tail(file, TAIL).splitlines() if line.strip()]):
            return tuple(lines[-LINES:])
    return ()


def follow(path: Path, show: Callable[[RunProgress], None] | None, clock: Clock | None = None) -> RunState:
    """Report the progress until the run has ended; returns how."""
    clock = clock or SystemClock()
    latest: RunProgress | None = None
    while (seen := look(path, clock))[0].alive:
        if show is not None and seen[1] is not None:
            show(latest := seen[1])
        clock.sleep(POLL_S)
    if show is not None and latest is not None:  # launches that ended since
        show(replace(latest, rows=tuple(_rows(open_record(path))), running=None))
    return seen[0]


def stop(path: Path) -> None:
    """Ask the run to end as Ctrl-C would. Raises RecordError: the record cannot be written."""
    try:
        heartbeat.request_stop(path)
    except OSError as error:
        raise RecordError(
            f"cannot write into {path}: {error.strerror}. Ask where it runs: kill -INT, with the process that `assay status` names."
        ) from error
