"""Were these times measured at all?

A record of the runner `simulated` (`assay simulate`) holds computed times. It is judged and shown like any other, so that a model can be
tested on a cluster with known properties, but it is INVALID as evidence.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

RUNNER = "simulated"


def is_simulated(measured: RecordData) -> bool:
    """Whether the record comes from a simulator, directly or through a replay."""
    if measured.experiment.workload.runner == RUNNER or measured.manifest.get("simulated") is not None:
        return True
    steps = measured.table("steps")
    return steps.height > 0 and steps["method"][0] == RUNNER


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding that makes a simulated record invalid."""
    if not is_simulated(measured):
        return ()
    evidence = "simulated, not measured: every time in this record was computed by a simulator from numbers given to it"
    remedy = "use it to explore what would happen; measure with assay run before quoting anything"
    return (Finding("simulated", "invalid", None, evidence, remedy),)


AUDIT = Audit(name="simulated", title="simulation instead of measurement", question="Were these times measured at all?", examine=examine)
