"""Does the log of another harness contradict itself?

A run that stopped early, items that are reported and not logged, requests that failed and were scored: the import found it, and says so here.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

REMEDY = "evaluate again to the end, and import the complete log"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each contradiction."""
    for sentence in (measured.foreign or {}).get("doubts") or ():
        yield Finding(rule="foreign_doubts", severity="warning", configuration=None, evidence=str(sentence), remedy=REMEDY)


AUDIT = Audit(
    name="foreign_doubts",
    title="logs that contradict themselves",
    question="Does the log of another harness contradict itself?",
    examine=examine,
    about=("evaluation",),
)
