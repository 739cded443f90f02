"""How many bytes a second does each link carry, if the ranks stand in a flat ring?

busbw = algbw x factor(operation, n), n the size of the group (`assay.frames.links.bandwidth`); bytes per second, shown as decimal GB/s.
One value for each cell; the interval is between launches.  Source: nccl-tests doc/PERFORMANCE.md.
Cannot tell: the use of a link's rate: where the network adds up on its way (SHARP, NVLS) it may be above it.
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
        measured,
        lambda cell, seconds: [bandwidth.busbw(cell.op, cell.ranks, cell.nbytes, one) for one in seconds],
        unit=BYTES_PER_SECOND,
        name="busbw",
    )
    return {cell.name: a_group_of_one(cell) or found[cell.name] for cell in asked_cells(measured)}


METRIC = Metric(
    name="busbw",
    title="Bus bandwidth",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="bytes / collective_time x factor(op, n)",
    compute=compute,
    about=("collectives",),
    primary=True,
)
