"""Are the gradients on several workers those that a single worker computes?

Seven of eight injected faults leave the gradients of all ranks equal bit for bit, and equal loss curves hide a gradient that is
75 % wrong (house research, quality, facts 7 and 8): only the comparison with one worker shows them.  What an earlier layer explains,
lost samples or another start, is not said again.  `assay.verdict.evidence.training_faults` has the order.
Parts of a model that is sharded over the ranks (FSDP2) are added up first.
Of later steps only a factor is seen, in the few that were looked at, and clipping before the ranks' gradients are averaged.
Cannot see: faults that begin after the first step and turn the gradient; what rounding of the precision hides (in bfloat16 a mean of
means over 1001 samples); the flat parameters of FSDP1.
"""

from __future__ import annotations

from assay.estimates.estimate import Absent
from assay.frames.record_data import Measured
from assay.frames.training.first_gradients import worst
from assay.metrics.base import Results
from assay.verdict.audits.support.audit import Audit
from assay.verdict.evidence.training_faults import diagnose
from assay.verdict.types import Finding

RULES = (
    "gradient_scaled",
    "gradient_differs",
    "reduced_in_less_precision",
    "nondeterministic_within_rounding",
    "clipped_before_reduction",
    "clipping_differs",
)


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration at most."""
    return tuple(
        Finding(rule=one.fault, severity=one.severity, configuration=name, evidence=one.evidence, remedy=one.remedy)
        for name, one in diagnose(measured).items()
        if one is not None and one.fault in RULES
    )


def blind(measured: Measured, _: Results) -> str | None:
    """Without one worker's gradient of the same samples nothing is compared."""
    several = [name for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1]
    reasons = [found.detail for name in several if isinstance(found := worst(measured, name), Absent)]
    return reasons[0] if reasons and len(reasons) == len(several) else None


AUDIT = Audit(
    name="gradients",
    title="a wrong gradient",
    question="Are the gradients those of a single worker?",
    examine=examine,
    about=("training",),
    blind=blind,
)
