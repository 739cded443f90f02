"""Were the workers forks of a process that had imported torch?

Then (`launcher.start = "fork"`) no launch paid for the imports.  Steps, losses and gradients are what they are otherwise; wall time of a
run, its cost and energy, start-up and recovery are less than a user pays.  A note, so that nobody quotes them as that.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One note for the record."""
    if measured.experiment.launcher.start != "fork":
        return ()
    evidence = "workers were forks of a process that had imported torch: wall time, cost and recovery of a run exclude the imports"
    return (Finding("forked_start", "note", None, evidence, 'set launcher.start = "exec" where they matter; steps are the same'),)


AUDIT = Audit(
    name="forked_start",
    title="forked start",
    question="Were the workers forks of a process that had imported torch?",
    examine=examine,
    about=("training",),
)
