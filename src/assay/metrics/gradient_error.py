"""Is the first gradient the one that a single worker computes from the same samples?

gradient_error = largest |g - g*| / |g*| of a parameter, g the gradient as the optimizer gets it in the first step, g* that of the launch of
one worker in the same block; the value is the largest of all blocks.  Rounding gives at most 1e-12 in float64 and 2e-5 in float32;
in bfloat16 5e-2, which hides real faults and is advice.  Parameters of more than 251 elements: estimated from sums, within 9 % (one
standard deviation).  Source: quality.md section 4, layer B.
It cannot tell whether later steps are right too, and legitimately differs where random layers or batch statistics do.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.first_gradients import Compared, worst
from assay.metrics.base import Metric, Results
from assay.units import FRACTION

REFERENCE = Absent(reason="not_applicable", detail="this is the reference")


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The launch that is farthest off, per configuration."""
    return {
        name: REFERENCE if level == 1 else _one(worst(measured, name))
        for level, name in zip(measured.levels, measured.configurations, strict=True)
    }


def _one(found: Compared | Absent) -> Value:
    if isinstance(found, Absent):
        return found
    assert found.difference is not None
    return exact(
        found.difference.error,
        unit=FRACTION,
        name="gradient_error",
        n_launches=1,
        n_trials=len(found.difference.errors),
        how=f"{found.difference.worst}, of {len(found.difference.errors)} parameters, in {found.precision}, first step, "
        f"launch {found.first.launch} against launch {found.reference}",
    )


METRIC = Metric(
    name="gradient_error",
    title="Gradient against one worker's",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="correctness",
    formula="max over parameters |g - g*| / |g*| in the first step, g* of one worker with the same samples",
    compute=compute,
)
