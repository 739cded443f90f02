"""How long would a step take at each worker count by the model that knows the links?

T(p) = T1 (s + (1 - s)/p) + c(p), METRICS.md: c(p) from the alpha and beta and the bytes that the same record holds (`metrics.wall`,
`stats.communication_wall`), s and T1 fitted to the measured steps.  In seconds, next to the measured `step_time`.
Sources: Amdahl 1967; Hockney 1994; Patarasuk & Yuan 2009 for the ring.  Cannot tell: what an engine does differently from a ring.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import model, of_model
from assay.metrics.base import Metric, Results
from assay.stats.models.communication_wall import predict
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The model's step time per configuration."""
    found = model(measured)
    if isinstance(found, Absent):
        return dict.fromkeys(measured.configurations, found)
    values: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        interval = predict(found.fitted, level, measured.confidence, launches=0, others=found.others)
        values[name] = of_model(measured, found, interval, unit=SECONDS, name="communication_wall", how=f"T({level}) of")
    return values


METRIC = Metric(
    name="communication_wall",
    title="Step time by the model of communication",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="T1 (s + (1 - s)/p) + c(p), c(p) from alpha and beta of the same record",
    compute=compute,
)
