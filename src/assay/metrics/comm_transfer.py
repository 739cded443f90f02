"""How much of a step's communication moves data, and waits for nobody?

comm_transfer = |union of the collectives, each of as long as the rank that needed least for it, before its end| per rank and step, mean
over ranks, median over steps after warm-up; where a GPU computes, of the kernels of profiled steps.  Source: METRICS.md; the least over
ranks as in TraceLens: it compares durations only, so that the ranks' clocks need not agree.
It cannot tell calls that are point to point, nor a wait that all ranks share.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import NO_PARTNER, by_kernels, step_numbers
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Least duration over ranks of every call, per step, then over launches."""
    return by_kernels(
        measured,
        step_numbers(measured, "transfer_ns", "the least that any rank needed for each collective", "comm_transfer", NO_PARTNER),
        "transfer_ns",
    )


METRIC = Metric(
    name="comm_transfer",
    title="Transfer",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of |union of its collectives, each as long as the least over ranks|",
    compute=compute,
    about=("training",),
)
