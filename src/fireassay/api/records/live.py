"""How far is a run that another process measures, as its record tells?

Ended launches come from the streams, the running launch's steps from the progress files of its ranks; nothing is asked of the run itself.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from fireassay.api.provisional import Provisional, after_block, blocks_done
from fireassay.api.records.survey import Entry
from fireassay.clock import Clock
from fireassay.errors import RecordError
from fireassay.estimates.format import duration
from fireassay.record.progress import read_progress
from fireassay.record.reader import Record, open_record
from fireassay.record.unjudged import judged_from
from fireassay.record.unsealed import launch_name
from fireassay.record.untrusted import paths
from fireassay.reports.site.live import Flight
from fireassay.runners.experiment.policy import remaining
from fireassay.runners.experiment.progress import FINAL, LaunchProgress, LaunchRow, RunProgress, planned_seconds, seconds_left
from fireassay.spec.plan import PlannedLaunch, plan

MAX_SHOWN: Final = 20  # runs shown
MAX_KNOWN: Final = 64  # tables of blocks
Known = dict[tuple[Path, int], Provisional | None]  # by record and number of finished blocks


def flights(entries: Sequence[Entry], clock: Clock, known: Known) -> list[Flight]:
    """The runs in flight; one that ends or is unreadable meanwhile is left out. `known`: tables made earlier, which it keeps up to date."""
    found = []
    for entry in [entry for entry in entries if entry.state == "running"][:MAX_SHOWN]:
        with suppress(RecordError):
            found.append(_flight(entry, clock, known))
    return found


def _flight(entry: Entry, clock: Clock, known: Known) -> Flight:
    with judged_from(entry.path):
        record = open_record(entry.path)
        progress = _progress(record, clock)
        ended = {row["slot"] for row in progress.rows if row["status"] in FINAL}
        running, table = progress.running, _provisional(progress, known)
        return Flight(
            record=entry.record,
            kind=entry.kind,
            ended=len(ended),
            planned=len(progress.plan),
            adaptive=progress.adaptive,
            now=_now(running.planned, running.steps) if running else "between launches",
            left="unknown" if progress.seconds_left is None else f"about {duration(progress.seconds_left)}",
            caption=table.caption if table else "",
            names=table.heads if table else (),
            rows=table.rows if table else (),
        )


def _now(planned: PlannedLaunch, steps: int) -> str:
    what = f"{planned.configuration}, block {planned.block}" if planned.role == "timed" else f"{planned.configuration}, {planned.role}"
    return f"{what}, step {steps}" if steps else what


def _progress(record: Record, clock: Clock) -> RunProgress:
    launches = plan(record.experiment)
    rows = sorted(record.arrow("launches").to_pylist(), key=lambda row: row["launch"])
    waiting = remaining(launches, rows)
    running = None
    if waiting:
        number = 1 + max((row["launch"] for row in rows), default=-1)
        steps, ranks = _steps(record, number, waiting[0].workers)
        elapsed_s = _elapsed_s(record, rows, clock)
        running = LaunchProgress(
            number=number, planned=waiting[0], elapsed_s=elapsed_s, steps=steps, steps_per_s=None, ranks=ranks, incarnation=0
        )
    return RunProgress(
        record=record.path,
        plan=launches,
        rows=tuple(rows),
        running=running,
        seconds_left=seconds_left(launches, rows, running, planned_seconds(record.experiment)),
        adaptive=record.experiment.launches.precision is not None,
    )


def _elapsed_s(record: Record, rows: Sequence[LaunchRow], clock: Clock) -> float:
    """Seconds since the last launch ended, if this machine's clock can tell."""
    if not rows or record.manifest["coordinator"]["host"] != socket.gethostname():
        return 0.0
    ended_ns: int = max(row["end_ns"] for row in rows)
    return max(0.0, (clock.now_ns() - ended_ns) / 1e9)


def _steps(record: Record, launch: int, workers: int) -> tuple[int, int]:
    """Steps finished by every rank that has reported, and the number of those ranks."""
    steps = []
    for rank in range(workers):
        with suppress(OSError, RecordError):  # the launch has just ended
            file = paths.plain(record.path, f"streams/{launch_name(launch)}/progress/rank={rank}.bin")
            if (progress := read_progress(file)) is not None:
                steps.append(progress.steps)
    return min(steps, default=0), len(steps)


def _provisional(progress: RunProgress, known: Known) -> Provisional | None:
    """What the finished blocks say; worked out once per block, since that takes processors from the run."""
    done = blocks_done(progress)
    if len(known) > MAX_KNOWN:
        known.clear()
    if done and (progress.record, done) not in known:
        known[progress.record, done] = None
        with suppress(RecordError):  # the launch that runs may be writing
            known[progress.record, done] = after_block(progress)
    return known.get((progress.record, done))
