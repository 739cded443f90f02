"""How does what `assay watch` saw become a sealed record, marked as observed?

The finding is an event, every rank's shares are telemetry. The record holds no steps: nothing was measured inside the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.importers.support.base import new_record, record_name
from fireassay.instruments.watching.sampler import Samples
from fireassay.record.declared import TELEMETRY
from fireassay.record.folder import launch_row, table_row, write_event, write_launch
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan

EVENT: Final = "watched"
LIMITS: Final = ("seen from outside: no step was measured, only samples of where each rank was",)
PART: Final = "a part of a running job, watched from outside"  # so that its length counts as no time of a run
SHARES: Final = ("running", "queued", "waiting")


def write_watched(root: Path, document: Mapping[str, Any], samples: Samples, *, clock: Clock) -> Path:
    """Write the record. Raises RecordError: it cannot be written."""
    name = record_name(f"watch-{re.sub(r'[^A-Za-z0-9]+', '-', str(document['job']))}", "watch", 0, 1)
    workers = max(1, int(document["workers"]))
    experiment = Experiment.model_validate(
        {
            "name": name,
            "workload": {"runner": "training", "script": "watched"},
            "factor": {"levels": [workers]},
            "launches": {"per_configuration": 1},
            "gates": {"efficiency": "none"},
        }
    )
    times = [reading.ns for reading in samples.readings] or [clock.now_ns()]
    with new_record(root, experiment, clock) as record:
        writer = record.writer(0)
        write_event(writer, 0, EVENT, max(times), document)
        for row in _telemetry(document, max(times)):
            writer.append("telemetry", row)
        outcome = {"status": "aborted", "reason": PART, "begin_ns": min(times), "end_ns": max(times), "begin_utc": clock.utc().isoformat()}
        write_launch(writer, launch_row(plan(experiment)[0], launch=0, **outcome), record.path)
        hosts = sorted({worker.host for worker in samples.workers})
        words = f"observed from outside for {document['seconds']:.0f} s: {document['sentence']}"
        record.note(observed={"by": "watch", "limits": [words, *LIMITS], "hosts": hosts, "job": {"name": document["job"]}})
        record.finish("complete")
    return record.path


def _telemetry(document: Mapping[str, Any], ns: int) -> Iterator[tuple[Any, ...]]:
    for rank in document["ranks"]:
        shares = {name: rank[name] for name in SHARES} | {f"in {phase}": share for phase, share in rank["phases"].items()}
        for counter, value in shares.items():
            device = f"rank-{rank['rank']}"
            yield table_row(
                TELEMETRY, launch=0, ns=ns, host=rank["host"], device=device, counter=counter, value=value, unit="share", method="watch"
            )
