"""What does communication cost beyond what is waited for?

comm_contention = max(0, exposed - waited) of each launch that calibrates communication: `exposed` by its steps with and without
synchronising
(`comm_exposed`, way unsynchronised), `waited` what the rank's thread stood still for in the same launch's steps that synchronise (way
group).  It is what computing loses beside communication (processors, memory) and what putting gradients into buckets takes.
Interval: Student t on the launch values.  Source: house research 2.2 and 5.4.
It cannot tell which of these it is, nor anything of a GPU, whose kernels no thread waits for; what a script sends by itself, in both
kinds of steps, is waited for and not in the difference, so that it makes contention too small.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.training.step_communication import METHODS
from assay.metrics.base import Metric, Results
from assay.metrics.communication import calibrated
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Exposed less waited for per launch, not below 0, then over launches."""
    return calibrated(
        measured,
        pl.col("exposed_s") - pl.col("thread_s"),
        "comm_contention|by:unsynchronised",
        f"exposed communication by {METHODS['unsynchronised']}, less what the threads waited for in the same launch, not below 0",
        of=("exposed_s", "thread_s"),
    )


METRIC = Metric(
    name="comm_contention",
    title="Contention of communication",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="max(0, comm_exposed by unsynchronised steps - time the thread waited) of the same launch",
    compute=compute,
    about=("training",),
)
