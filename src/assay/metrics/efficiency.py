"""How much of each worker does useful work, compared with the base configuration?

E(p) = S(p) base_workers / p.  With S per unit of work this is S/p under strong and T(1)/T(p) under weak scaling
(METRICS.md, "Scaling").  Above 1 it points to a weak base or to caches that suddenly suffice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import mul

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import transform
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import FRACTION


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """Efficiency per configuration, from the speedup."""
    base = measured.experiment.base_level
    found: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        speedup = results["speedup"][name]
        if isinstance(speedup, Absent):
            found[name] = speedup
            continue
        share = base / level
        found[name] = transform(speedup, partial(mul, share), unit=FRACTION, name="efficiency", how=f"speedup x {base}/{level}")
    return found


METRIC = Metric(
    name="efficiency",
    title="Parallel efficiency",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="E(p) = S(p) base / p",
    compute=compute,
    after=("speedup",),
    primary=True,
)
