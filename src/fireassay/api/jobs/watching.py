"""What does a running job do that assay did not start?  Found, sampled from outside, diagnosed, and kept as an observed record."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from fireassay.clock import SystemClock
from fireassay.errors import EnvironmentLacks, RecordError, refuse
from fireassay.importers.observed.watched import WatchedRecord
from fireassay.instruments.stuck import EVEN, OTHERWISE
from fireassay.instruments.watching.diagnosis import Diagnosis, RankState, diagnose
from fireassay.instruments.watching.node import watched_nodes
from fireassay.instruments.watching.processes import PROC, Worker, workers_below
from fireassay.instruments.watching.progress import Progress, log_of, progress_of
from fireassay.instruments.watching.sampler import Sampler, Samples
from fireassay.instruments.watching.stacks import BACKWARD, COMMUNICATION
from fireassay.record.staging import check_root

SO_FAR_S, SO_FAR_SHARE = 2.0, 0.005  # between two findings at least, and the share of a processor that they may cost
Tick = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which job, how long, and what is kept."""

    pid: int | None = None
    slurm_job: str = ""
    seconds: float = 60.0
    stacks: bool = True
    log: Path | None = None
    root: Path | None = None  # of the record; None: none is written


def watch(wanted: Wanted, tick: Tick | None = None) -> dict[str, Any]:
    """Watch a job and diagnose it: the document of `assay watch`. `tick`: gets the finding so far, about every two seconds.

    Raises:
        SpecError: the process does not exist.
        EnvironmentLacks: this system shows no processes, or Slurm does not answer.
        RecordError: the record cannot be written.
    """
    if wanted.root is not None:
        check_root(wanted.root)  # now, not after the first finding
    if wanted.slurm_job:
        workers: Sequence[Worker] = ()
        log, job = wanted.log, f"Slurm job {wanted.slurm_job}"
    else:
        workers = _workers(wanted.pid or 0)
        log, job = wanted.log or log_of(workers), f"process {wanted.pid}"
    before = Progress(steps=None) if wanted.slurm_job else progress_of(workers, log)

    def document(samples: Samples, found: Diagnosis) -> dict[str, Any]:
        return _document(job, samples, found, before, progress_of(workers, log))

    kept = None if wanted.root is None else WatchedRecord(wanted.root, SystemClock())
    so_far = _SoFar(document, tick, kept)
    try:
        if wanted.slurm_job:
            samples = watched_nodes(wanted.slurm_job, wanted.seconds, wanted.stacks, so_far)
        else:
            samples = Sampler(workers, stacks=wanted.stacks).run(wanted.seconds, tick=so_far)
        last = document(samples, diagnose(samples))
        if kept is not None:
            try:
                last["record"] = str(kept.finish(last, samples))
            except RecordError as error:  # what was seen is still shown
                last["no_record"] = str(error)
                with suppress(RecordError):
                    kept.leave()
    except BaseException:
        if kept is not None:
            kept.leave()
        raise
    return last


def _workers(pid: int) -> Any:
    if not (PROC / "self" / "schedstat").exists():
        raise EnvironmentLacks("this system has no /proc with schedstat, which only Linux has. Watch the job on its own machine.")
    fix = "Give the process of torchrun, or of one worker; `pgrep -af torchrun` shows them."
    workers = workers_below([pid], socket.gethostname()) if pid > 0 else ()
    if not workers:
        raise refuse("--pid", str(pid), "a running process of this user", fix, source="the flags")
    for one, other in pairwise(workers):  # by rank
        if one.rank == other.rank:
            found = f"{pid}, below which two processes ({one.pid}, {other.pid}) are rank {one.rank}"
            raise refuse("--pid", found, "a process with one job below it", fix, source="the flags")
    return workers


class _SoFar:
    """The finding so far, shown and kept every two seconds; less often once a diagnosis of so much takes its time."""

    def __init__(self, document: Callable[[Samples, Diagnosis], dict[str, Any]], tick: Tick | None, record: WatchedRecord | None) -> None:
        self._document, self._tick, self._record = document, tick, record
        self._next_s = 0.0

    def __call__(self, samples: Samples) -> None:
        if not samples.readings or (begin := time.monotonic()) < self._next_s:
            return
        before = time.thread_time()
        found = diagnose(samples)
        if self._record is not None:
            self._record.note(self._document(samples, found), samples)
        if self._tick is not None:
            self._tick(f"{found.seconds:.0f} s: {sentence(found) if found.kind != 'unknown' else 'looking'}")
        self._next_s = begin + max(SO_FAR_S, (time.thread_time() - before) / SO_FAR_SHARE)


# ---- words -----------------------------------------------------------------------------------------------------------


def sentence(found: Diagnosis) -> str:
    """The finding in one clause."""
    percent = f"{100 * (found.share or 0):.0f} % of the time"
    at = f", at {found.place}" if found.place else ""
    match found.kind:
        case "slow_rank":
            return f"rank {found.rank} is slow{f' in {found.phase}' if found.phase else ''}: the others wait for it {percent}{at}"
        case "stall":
            return f"all ranks are in {found.phase} {percent}{at}"
        case "hang":
            return f"the job hangs: {'; '.join(f'rank {rank.rank} in {_where(rank)}' for rank in found.ranks[:4])}"
        case "starting":
            return "the job is still importing its modules"
        case "none":
            return "no rank makes the others wait, and no phase stalls the job"
    return "too little was seen"


def _where(rank: RankState) -> str:
    return rank.last.words if rank.last is not None else "a blocked call"


def _advice(found: Diagnosis) -> str:
    if found.kind == "hang":
        places = {(rank.last.phase, rank.last.call) for rank in found.ranks if rank.last is not None}
        return EVEN if len(places) > 1 and any(phase == BACKWARD for phase, _ in places) else OTHERWISE
    if found.kind == "stall" or found.phase == "data":
        return "Load in more processes (num_workers), nearer, or ahead of time."
    if found.kind == "slow_rank":
        return "Compare its node with the others (assay fleet), and its share of the work."
    return ""


def _document(job: str, samples: Samples, found: Diagnosis, before: Progress, after: Progress) -> dict[str, Any]:
    steps = None if before.steps is None or after.steps is None or not found.seconds else (after.steps - before.steps) / found.seconds
    hosts = {worker.rank: worker.host for worker in samples.workers}
    return {
        "verb": "watch",
        "observed": True,
        "job": job,
        "seconds": found.seconds,
        "finding": found.kind,
        "sentence": sentence(found),
        "advice": _advice(found),
        "rank": found.rank,
        "phase": found.phase,
        "share": found.share,
        "error": found.error,
        "place": found.place,
        "ranks": [_rank(rank, hosts.get(rank.rank, "")) for rank in found.ranks],
        "workers": max((worker.workers for worker in samples.workers), default=0),
        "steps_per_s": steps if steps is None or steps >= 0 else None,
        "steps": after.steps,
        "steps_by": after.source,
        "log_line": after.line,
        "ended": samples.ended,
        "stacks": "" if any(rank.looks for rank in found.ranks) else samples.trouble or "no stack could be read",
        "own_cpu": samples.cpu_s / found.seconds if found.seconds else None,
        "record": None,
    }


def _rank(rank: RankState, host: str) -> Mapping[str, Any]:
    return {
        "rank": rank.rank,
        "host": host,
        "running": rank.running,
        "queued": rank.queued,
        "waiting": rank.waiting,
        "waiting_error": rank.waiting_error,
        "phases": dict(rank.phases),
        "looks": rank.looks,
        "at": _where(rank) if rank.last is not None else "",
        "waits": None if rank.last is None else rank.last.waits,
        "collective": rank.last.call if rank.last is not None and rank.last.phase == COMMUNICATION else "",
        "stack": list(rank.stack),
        "mib_read_per_s": rank.mib_read_per_s,
    }
