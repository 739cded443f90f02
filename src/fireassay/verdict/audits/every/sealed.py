"""Is this record complete and sealed?

Only a complete, sealed record carries a verdict.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding for an interrupted, failed or unsealed record."""
    if measured.state == "complete" and measured.sealed:
        return ()
    reason = str(measured.manifest.get("reason") or "").strip()
    suffix = f": {reason}" if reason else ""
    if measured.state == "failed":
        return (_finding("failed", f"the experiment failed{suffix}", "fix the workload and run the experiment again"),)
    if measured.state == "running":
        return (_finding("running", "launches are still running", "wait until the experiment has ended"),)
    remedy = "finish it with `assay resume RECORD`"
    if measured.state == "complete":
        return (_finding("unsealed", "all launches have ended but the record was never sealed", remedy),)
    return (_finding("interrupted", f"the experiment was interrupted, and planned launches are missing{suffix}", remedy),)


def _finding(rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(f"record_{rule}", "invalid", None, evidence, remedy)


AUDIT = Audit(name="sealed", title="incomplete record", question="Is this record complete and sealed?", examine=examine, about=EVERYTHING)
