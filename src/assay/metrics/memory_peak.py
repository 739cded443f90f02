"""How much memory of a device does the training need at most?

memory_peak = the most bytes that torch's allocator had in use on one device, of the rank that needed most; asked at the end of each
rank (torch.cuda.max_memory_allocated).  The bytes it had reserved beside are in the record (telemetry, memory_reserved_peak).
It cannot tell what the driver and other libraries took beside torch, nor how close it came to failing in between.
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
        "memory_allocated_peak",
        name="memory_peak",
        of="peak of allocated device memory",
        missing="no rank used a device through torch.cuda, or none came to its end",
    )


METRIC = Metric(
    name="memory_peak",
    title="Peak device memory",
    unit=BYTES,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="most bytes allocated on one device, of the largest rank",
    compute=compute,
    about=("training",),
)
