"""Below which size is an operation's time mostly latency?

crossover_size = a / b of T(S) = a + b S (`assay.metrics.link_fit`): the size at which half of the time is fixed, and half of the
bandwidth is
reached.  For a single link it is alpha / beta, Hockney's m(1/2); for a ring the size S of the whole operation, as nccl-tests counts it.
Smaller messages are worth putting together, larger ones are not.
Cannot tell: whether putting them together delays something else.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.link_fit import over_groups
from assay.units import BYTES


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One fit per launch; the interval is between launches."""
    return over_groups(measured, lambda _, fitted: fitted.half, unit=BYTES, name="crossover_size", needs=("fixed", "growing"))


METRIC = Metric(
    name="crossover_size",
    title="Crossover size",
    unit=BYTES,
    kind="level",
    better="neither",
    dimension="performance",
    formula="a / b of T(S) = a + b S",
    compute=compute,
    about=("collectives",),
    primary=True,
)
