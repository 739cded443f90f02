"""By how much does communication lengthen a step?

comm_exposed, by the best of the ways of `assay.frames.training.step_communication` that the record has; which one stands in its method
and signature, and
the other ways' values beside it, with what steps in turn could not tell.  Mean over ranks, median over steps after warm-up.
Source: METRICS.md, house research 2.2 and 5.4.  It is a part of the phases in which it happens (of the backward pass under DDP), no phase
of its own.  By unsynchronised steps contention is in it; by the hooks only the time in which the rank's thread stood still.
It cannot tell transferring from waiting for slower ranks; nor what a script's training sends from what its own evaluation sends inside of a
step: an unmodified script's evaluation that calls collectives counts as exposed there.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.communication import exposed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """By the best way that the record has."""
    return exposed(measured)


METRIC = Metric(
    name="comm_exposed",
    title="Exposed communication",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="step time that communication adds: with - without synchronising, else |communication without computing|",
    compute=compute,
    about=("training",),
)
