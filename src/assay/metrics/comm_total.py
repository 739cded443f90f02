"""In how much of a step is some collective under way?

comm_total = |union of the collectives' intervals| per rank and step, mean over ranks; a launch's value is the median over its steps after
warm-up.  Source: METRICS.md, "Time inside a training step", with the union for its sum (`assay.frames.training.step_communication` says
why).  Where a GPU computes, the ends of calls are not seen, and the kernels of profiled steps are taken.
It cannot tell transferring from waiting for slower ranks, nor what of it computing hides.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import by_kernels, step_numbers
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Union of the collectives, median per launch, then over launches."""
    return by_kernels(measured, step_numbers(measured, "total_ns", "the time in which collectives were under way", "comm_total"))


METRIC = Metric(
    name="comm_total",
    title="Communication",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of the mean over ranks of |union of its collectives|",
    compute=compute,
    about=("training",),
)
