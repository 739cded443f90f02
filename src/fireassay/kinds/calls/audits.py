"""Does the file of another program contradict itself?"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("calls",))
REMEDY = "time it again with the tool, or with assay time, and import the file as it was written"


@AUDITS.add("contradictory_file", "Does an imported file contradict itself?", title="files that contradict themselves")
def examine_contradictory_file(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per contradiction that the import found.

    The tool's own mean, median, minimum and maximum must follow from the trials in its file (relative 1e-6); executions of 0 s, a debug build
    and a scaled clock, as the file says, are doubts too. Cannot tell: a file whose trials and statistics were changed together.
    """
    for sentence in (measured.foreign or {}).get("doubts") or ():
        yield Finding(rule="contradictory_file", severity="warning", configuration=None, evidence=str(sentence), remedy=REMEDY)


@AUDITS.blind("contradictory_file")
def blind_contradictory_file(measured: RecordData, _: Results) -> str | None:
    """Blind without an imported file."""
    return None if measured.foreign is not None else "the record was made by assay"
