"""By which factor is the first gradient longer than the one that a single worker computes?

gradient_scale = <g, g*> / <g*, g*> over all parameters, g and g* as for `gradient_error`; of the launch with the largest error.  1 is
right. 1/workers means that the loss or the gradient was averaged twice, workers that it was summed, 1/batches that accumulated
gradients were averaged once too often.  Source: quality.md section 4, layer B; equal loss curves hide it, AdamW too.
It cannot tell what is wrong with a gradient that points elsewhere; `gradient_error` tells that it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.first_gradients import Compared, worst
from assay.metrics.base import Metric, Results
from assay.metrics.gradient_error import REFERENCE
from assay.units import RATIO

NOTHING = Absent(reason="undefined", detail="one worker's gradient is zero or not finite")


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The factor per configuration."""
    return {
        name: REFERENCE if level == 1 else _one(worst(measured, name))
        for level, name in zip(measured.levels, measured.configurations, strict=True)
    }


def _one(found: Compared | Absent) -> Value:
    if isinstance(found, Absent):
        return found
    assert found.difference is not None
    if math.isnan(found.difference.scale):
        return NOTHING
    return exact(
        found.difference.scale,
        unit=RATIO,
        name="gradient_scale",
        n_launches=1,
        n_trials=len(found.difference.errors),
        how=f"over {len(found.difference.errors)} parameters, in {found.precision}, first step, launch {found.first.launch} against launch {found.reference}",
    )


METRIC = Metric(
    name="gradient_scale",
    title="Length of the gradient",
    unit=RATIO,
    kind="ratio",
    better="neither",
    dimension="correctness",
    formula="<g, g*> / <g*, g*> over all parameters in the first step, g* of one worker with the same samples",
    compute=compute,
)
