"""How long does a link need for one more byte?

beta = b / share(op, n), where T(S) = a + b S is fitted to the times of an operation at all sizes (`assay.metrics.link_fit`) and each link
of a ring carries that share of S (the factor of busbw).  1 / beta is the bandwidth that busbw tends to at large sizes.
Source: Hockney, Parallel Computing 20 (1994) 389-398.
Cannot tell: the wire's rate: copies and sums in the engine are inside.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.link_fit import link, over_groups
from assay.units import SECONDS_PER_BYTE


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One fit per launch; the interval is between launches."""
    return over_groups(measured, lambda cell, fitted: link(cell, fitted)[1], unit=SECONDS_PER_BYTE, name="beta", needs=("growing",))


METRIC = Metric(
    name="beta",
    title="Time per byte of a link",
    unit=SECONDS_PER_BYTE,
    kind="level",
    better="lower",
    dimension="performance",
    formula="b / share(op, n) of T(S) = a + b S",
    compute=compute,
    about=("collectives",),
    primary=True,
)
