"""What would one client have sent for the requests that several sent?  Made again from the schedule, after the load.

Source of the rule that it does not depend on the number of clients: `fireassay.traffic.arrivals.draws.mine`.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.runners.experiment.abandoned_launches import request_batches
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client.process import Job, maker
from fireassay.traffic.client.sent_digest import SentDigest
from fireassay.traffic.prompts.make import prompts_of

NOTHING: Final[dict[str, Any]] = {"requests": 0, "sum": "0" * 32}


def digests(load: Path, record: Path, launch: int, schedule: Schedule) -> dict[int, dict[str, Any]]:
    """Client -> the digest of the requests that it sent, by its rows."""
    job = Job.read(load / "job.json")
    prompts = prompts_of(job.serving, job.configuration, job.base, job.seed, job.launch, record=job.record)
    task, backend = catalog.load("traffic.tasks", job.serving.task), catalog.load("traffic.backends", job.target.backend)
    make = maker(job, prompts, task, backend, schedule)
    sums: defaultdict[int, SentDigest] = defaultdict(lambda: SentDigest(schedule))
    for batch in request_batches(record, launch):
        for number, client, sent_ns in zip(*(batch[name].to_pylist() for name in ("request", "client", "sent_ns")), strict=True):
            if sent_ns is not None and sums[client].takes(number):
                sums[client].add(number, int(schedule.due_ns[number]), make(number, ()).wire)
    return {client: digest.report() for client, digest in sums.items()}
