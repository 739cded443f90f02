"""Are the gradients those of a single worker?

Agreement between ranks is not enough: of eight faults injected into DDP, seven left all ranks' gradients bitwise equal, and equal loss
curves hid a gradient with a 75 % error. Only a comparison with one worker shows them. Faults explained by an earlier layer (lost samples,
another start) are not repeated; order: `fireassay.verdict.evidence.training_faults`. Shards of a model (FSDP2) are combined first. In sampled
later steps only a wrong factor, and clipping before averaging, are detected.

Cannot tell: faults that begin after the first step and turn the gradient; errors within rounding (in bfloat16, a mean of means over 1001
samples); the flat parameters of FSDP1.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.first_gradients import worst
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.training_faults import diagnose
from fireassay.verdict.types import Finding

RULES = (
    "gradient_scaled",
    "gradient_differs",
    "reduced_in_less_precision",
    "nondeterministic_within_rounding",
    "clipped_before_reduction",
    "clipping_differs",
)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration."""
    return tuple(
        diagnosis.finding(name) for name, diagnosis in diagnose(measured).items() if diagnosis is not None and diagnosis.fault in RULES
    )


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without one worker's gradient of the same samples."""
    several = [name for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1]
    reasons = [diagnosis.detail for name in several if isinstance(diagnosis := worst(measured, name), Absent)]
    return reasons[0] if reasons and len(reasons) == len(several) else None


AUDIT = Audit(
    name="gradients",
    title="a wrong gradient",
    question="Are the gradients those of a single worker?",
    examine=examine,
    about=("training",),
    blind=blind,
)
