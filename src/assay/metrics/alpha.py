"""What does each message between two neighbours cost, however small it is?

alpha = a / rounds(op, n), where T(S) = a + b S is fitted to the times of an operation at all sizes (`assay.metrics.link_fit`) and a ring
of n
ranks needs so many latencies one after the other: 2 (n - 1) for all_reduce, n - 1 for gatherings and scatterings, log2 n for trees, 1 for a
neighbour.  Source: Hockney, Parallel Computing 20 (1994) 389-398; Thakur et al., IJHPCA 19 (2005) 49-66, for the rounds.
Cannot tell: the network's share of it: the engine, its threads and the processes' wake-up are inside.  Gloo asks the receiver before it
sends, so that its alpha holds the wire's latency twice (`assay comm --matrix` has it once: there the receiver waits already).
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.link_fit import link, over_groups
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One fit per launch; the interval is between launches."""
    return over_groups(measured, lambda cell, fitted: link(cell, fitted)[0], unit=SECONDS, name="alpha", needs=("fixed",))


METRIC = Metric(
    name="alpha",
    title="Latency of a link",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="a / rounds(op, n) of T(S) = a + b S",
    compute=compute,
    about=("collectives",),
    primary=True,
)
