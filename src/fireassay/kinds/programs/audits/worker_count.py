"""Is the program given its number of workers?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("programs",))
NAME: Final = "{workers}"


@AUDITS.add("worker_count_unnamed", "Is the program given its number of workers?", title="no worker count among the arguments")
def examine_worker_count(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note where {workers} stands in no argument and no variable: the program can only read FIREASSAY_WORKERS, and may ignore it."""
    workload = measured.experiment.workload
    if len(measured.levels) > 1 and not any(NAME in word for word in (*workload.arguments, *workload.environment.values())):
        evidence = f"{NAME} is in no argument and no variable; unless the program reads FIREASSAY_WORKERS, all launches had equal workers"
        yield Finding("worker_count_unnamed", "note", None, evidence, f"give it to the program: -- ./job {NAME}, or --env N={NAME}")
