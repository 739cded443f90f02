"""How long do ranks wait in collectives for slower ranks?

comm_wait = comm_total - comm_transfer per rank and step, mean over ranks, median over steps after warm-up; where a GPU
computes, of the kernels of profiled steps.  Source: METRICS.md.  The rank that comes last waits for nobody, so that who waits least is
who is waited for.  It cannot tell why a rank is slow: see the stragglers.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import NO_PARTNER, by_kernels, step_numbers
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """What is left of the collectives without their transfer."""
    return by_kernels(
        measured, step_numbers(measured, "wait_ns", "the time in collectives beyond their transfer", "comm_wait", NO_PARTNER), "wait_ns"
    )


METRIC = Metric(
    name="comm_wait",
    title="Waiting for ranks",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of the mean over ranks of (comm_total - comm_transfer)",
    compute=compute,
    about=("training",),
)
