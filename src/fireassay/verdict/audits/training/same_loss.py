"""Is the first distributed loss the same as the base's?

With equal seed and global batch, first losses differ only by rounding. A larger difference means other initial parameters, another batch or
another loss reduction. Checked only if the ledger or declared strong scaling shows equal batches; later losses are advisory, since rounding
grows.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

TOLERANCE = 1e-3  # relative; rounding is about 1e-7 in float32, 4e-3 per term in bfloat16, less for a mean


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with a different first loss."""
    if measured.mode != "strong":
        return
    for name in measured.configurations:
        if (evidence := _evidence(measured, results["loss_deviation"][name])) is not None:
            remedy = "give all worker counts the same seed, the same global batch and a loss averaged over the global batch"
            yield Finding("first_loss_differs", "warning", name, evidence, remedy)


def _evidence(measured: RecordData, value: Value) -> str | None:
    """The discrepancy of the first loss, or None; `losses` reports one that is not finite."""
    if isinstance(value, Estimate) and value.value > TOLERANCE:
        return f"the first loss differs by {show(value).text} from that of {measured.base} with the same seed"
    return None


AUDIT = Audit(name="same_loss", title="different first loss", question="Does distribution compute the same first loss?", examine=examine)
