"""How much of a step was not marked as any phase?

unknown_time = the phase of the slowest rank of each step; a launch's value is the median over its steps after warm-up.
Source: METRICS.md, "Time inside a training step".  It is the step less the marked phases, so that phases + unknown = step.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.steady_series import MARK_STEPS
from assay.metrics.base import Metric, Results
from assay.metrics.phases import phase_time
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median of the phase per launch, then over launches."""
    return phase_time(measured, "unknown", missing=MARK_STEPS)


METRIC = Metric(
    name="unknown_time",
    title="Rest of the step",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of the slowest rank's unknown phase",
    compute=compute,
)
