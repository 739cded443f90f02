"""How much memory of a device does torch hold at most, used or kept for later?

memory_reserved_peak = the most bytes that torch's caching allocator had taken from one device, of the rank that needed most; asked at
the end of each rank (torch.cuda.max_memory_reserved).  It is what other programs see as taken, but for the driver's and libraries' own;
what it has beyond memory_peak is cache and fragments.
It cannot tell how much of that could have been given back.
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
        "memory_reserved_peak",
        name="memory_reserved_peak",
        of="peak of reserved device memory",
        missing="no rank used a device through torch.cuda, or none came to its end",
    )


METRIC = Metric(
    name="memory_reserved_peak",
    title="Peak reserved memory",
    unit=BYTES,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="most bytes that torch held of one device, of the largest rank",
    compute=compute,
    about=("training",),
)
