"""How long does one call of a collective take?

collective_time = time of a loop of back-to-back calls / calls, on the slowest rank; monotonic clock of that rank (on a GPU events in its
stream).  Value of a launch: median of its loops; interval: Student t on the logs of the launch values (methodology 3.1).
One value for each cell: an operation at a size and placement, on so many workers.  Source: nccl-tests common.cu, with -a 3.
Cannot tell: what a call costs that starts alone, or one that overlaps computing; nor why a rank was the slowest.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.links.collective_calls import over_cells
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The median per launch, then over launches."""
    return over_cells(measured, lambda _, seconds: seconds, unit=SECONDS, name="collective_time")


METRIC = Metric(
    name="collective_time",
    title="Time of a collective",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over loops of (end - begin) / calls on the slowest rank",
    compute=compute,
    about=("collectives",),
    primary=True,
)
