"""Which configurations gave a worse model?

Lists a failed quality gate as a finding, beside lost samples and diverged replicas. A warning for the record: this configuration is
rejected, the others stand.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.gates import quality
from fireassay.verdict.types import Finding


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One warning per configuration shown to be worse than the margin allows."""
    return tuple(
        Finding("quality_degraded", "warning", gate.configuration, gate.sentence, measured.kind.quality_remedy)
        for gate in quality.GATE.check(measured, results)
        if gate.status == "FAIL"
    )


AUDIT = Audit(
    name="quality_loss", title="worse model", question="Which configurations gave a worse model?", examine=examine, about=WORKLOADS
)
