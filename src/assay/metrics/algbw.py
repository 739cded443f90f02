"""How many bytes a second does the operation handle?

algbw = S / t, S as nccl-tests counts it (`assay.frames.links.bandwidth`), t the collective_time; bytes per second, shown as decimal GB/s.
One value for each cell; the interval is between launches.  Source: nccl-tests doc/PERFORMANCE.md.
Cannot tell: what the links carry (busbw says more of them), nor how two worker counts compare.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.links import bandwidth
from assay.frames.links.collective_calls import a_group_of_one, asked_cells, over_cells
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import BYTES_PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """From the times of each launch; Absent for a group of one."""
    found = over_cells(
        measured, lambda cell, seconds: [bandwidth.algbw(cell.nbytes, one) for one in seconds], unit=BYTES_PER_SECOND, name="algbw"
    )
    return {cell.name: a_group_of_one(cell) or found[cell.name] for cell in asked_cells(measured)}


METRIC = Metric(
    name="algbw",
    title="Algorithm bandwidth",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="bytes / collective_time",
    compute=compute,
    about=("collectives",),
    primary=True,
)
