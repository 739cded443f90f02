"""Does distribution compute the same first loss as the base?

With the same seed and the same global batch the first losses differ by rounding only.  A larger difference means other
initial parameters, another batch or another reduction of the loss.  Checked only where the ledger or the experiment's
strong scaling says that the batches are equal; later losses are advice, since rounding grows.
"""

from __future__ import annotations

from assay.estimates.estimate import Estimate, Value
from assay.estimates.format import show
from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.verdict.audits.support.audit import Audit
from assay.verdict.types import Finding

TOLERANCE = 1e-3  # relative; float32 rounding is about 1e-7, bfloat16 about 4e-3 of a single term and less of a mean


def examine(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """A warning per configuration whose first loss is another one."""
    if measured.mode != "strong":
        return ()
    found = []
    for name in measured.configurations:
        if (evidence := _evidence(measured, results["loss_deviation"][name])) is not None:
            found.append(
                Finding(
                    rule="first_loss_differs",
                    severity="warning",
                    configuration=name,
                    evidence=evidence,
                    remedy="give all worker counts the same seed, the same global batch and a loss averaged over the global batch",
                )
            )
    return tuple(found)


def _evidence(measured: Measured, value: Value) -> str | None:
    """What is wrong with the first loss, or None; one that is no number is the finding of `losses`."""
    if isinstance(value, Estimate) and value.value > TOLERANCE:
        return f"the first loss differs by {show(value).text} from that of {measured.base} with the same seed"
    return None


AUDIT = Audit(name="same_loss", title="another first loss", question="Does distribution compute the same first loss?", examine=examine)
