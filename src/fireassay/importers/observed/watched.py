"""How does what `assay watch` sees become a record, marked as observed?

The finding so far is an event, written again and again: a watch that is killed leaves an unsealed record with its last one. At the end every
rank's shares are telemetry, and the record is sealed. It holds no steps: nothing was measured inside the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.importers.support.base import record_name
from fireassay.instruments.watching.sampler import Samples, undisturbed
from fireassay.record import folder
from fireassay.record.declared import TELEMETRY
from fireassay.record.folder import RecordFolder, launch_row, table_row, write_event, write_launch
from fireassay.record.seal import plan_signature
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.units import NS_PER_S

EVENT: Final = "watched"
LIMITS: Final = ("observed from outside, not an experiment: no step was measured, only samples of where each rank was",)
PART: Final = "a part of a running job, watched from outside"  # so that its length counts as no time of a run
SHARES: Final = ("running", "queued", "waiting")


class WatchedRecord:
    """The record of one watch; its folder is made with the first finding."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root, self._clock = root, clock
        self._record: RecordFolder | None = None

    def note(self, document: Mapping[str, Any], samples: Samples) -> None:
        """Keep the finding so far. Raises RecordError: it cannot be written."""
        with undisturbed():
            writer = self._begun(document, samples).writer(0)
            write_event(writer, 0, EVENT, self._clock.now_ns(), document)  # the nodes' own clocks differ
            writer.flush()

    def finish(self, document: Mapping[str, Any], samples: Samples) -> Path:
        """Keep the last finding, and seal. Raises RecordError: it cannot be written."""
        self.note(document, samples)
        with undisturbed():
            record = self._begun(document, samples)
            writer, end_ns = record.writer(0), self._clock.now_ns()
            for row in _telemetry(document, end_ns):
                writer.append("telemetry", row)
            begin_ns = end_ns - round(document["seconds"] * NS_PER_S)
            outcome = {"status": "aborted", "reason": PART, "begin_ns": begin_ns, "end_ns": end_ns}
            planned = plan(record.experiment)[0]
            write_launch(writer, launch_row(planned, launch=0, **outcome, begin_utc=self._clock.utc().isoformat()), record.path)
            record.finish("complete")
        return record.path

    def leave(self) -> None:
        """Leave it as it is, readable, after an error."""
        with undisturbed():
            if self._record is not None:
                self._record.finish("interrupted")

    def _begun(self, document: Mapping[str, Any], samples: Samples) -> RecordFolder:
        if self._record is None:
            experiment = _experiment(str(document["job"]), max(1, int(document["workers"])))
            self._record = folder.create(self._root, experiment, plan_signature(experiment), clock=self._clock)
            hosts = sorted({worker.host for worker in samples.workers})
            self._record.note(observed={"by": "watch", "limits": list(LIMITS), "hosts": hosts, "job": {"name": document["job"]}})
        return self._record


def _experiment(job: str, workers: int) -> Experiment:
    return Experiment.model_validate(
        {
            "name": record_name(f"watch-{re.sub(r'[^A-Za-z0-9]+', '-', job)}", "watch", 0, 1),
            "workload": {"runner": "watch", "script": job},
            "factor": {"levels": [workers]},
            "launches": {"per_configuration": 1},
            "gates": {"efficiency": "none"},
        }
    )


def _telemetry(document: Mapping[str, Any], ns: int) -> Iterator[tuple[Any, ...]]:
    for rank in document["ranks"]:
        shares = {name: rank[name] for name in SHARES} | {f"in {phase}": share for phase, share in rank["phases"].items()}
        for counter, value in shares.items():
            device = f"rank-{rank['rank']}"
            yield table_row(
                TELEMETRY, launch=0, ns=ns, host=rank["host"], device=device, counter=counter, value=value, unit="share", method="watch"
            )
