"""How much memory of the host does a rank need at most?

host_memory_peak = the most resident memory of a rank's process (VmHWM), of the rank that needed most; asked at the end of each rank.
It includes Python, torch and what measuring itself needs; helper processes of a loader are not in it, and pages that are shared
between ranks are in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.memories import largest
from assay.units import BYTES


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Bytes per configuration."""
    return largest(
        measured,
        "memory_peak",
        name="host_memory_peak",
        of="peak of resident memory",
        missing="the steps of the script were not seen, so that no rank said at its end what it needed",
    )


METRIC = Metric(
    name="host_memory_peak",
    title="Peak memory of a rank",
    unit=BYTES,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="most resident memory of one rank's process",
    compute=compute,
    about=("training",),
)
