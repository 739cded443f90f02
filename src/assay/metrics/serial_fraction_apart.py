"""Which share of a step on one worker does not get shorter, once communication is taken out?

s of T(p) = T1 (s + (1 - s)/p) + c(p), with c(p) not fitted but predicted from the alpha and beta of the same record (`metrics.wall`).
Amdahl's `serial_fraction` beside it calls all of that serial.  The fits of blocks may fall below 0 on their way to the mean: held above
it they would have a mean above a small truth, and no scatter at all where the truth is 0.  What is told is a share, and so at least 0.
Cannot tell serial work from anything else that every worker does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import model, of_model
from assay.metrics.base import ALL, Metric, Results
from assay.stats.intervals.intervals import Interval
from assay.stats.models.communication_wall import parameter
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One fraction for the whole experiment."""
    found = model(measured)
    if isinstance(found, Absent):
        return {ALL: found}
    if measured.mode == "weak":
        return {ALL: Absent(reason="not_applicable", detail="where work grows with the workers, serial and parallel work look alike")}

    interval = parameter(found.fitted, measured.confidence, lambda curve: curve.free, found.others)
    held = replace(interval, value=_share(interval.value))
    if math.isfinite(interval.high):
        held = Interval(value=held.value, low=_share(interval.low), high=_share(interval.high))
    values = tuple(_share(curve.free) for curve in found.fitted.curves)
    return {ALL: of_model(measured, found, held, unit=FRACTION, name="serial_fraction_apart", how="s of", values=values)}


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


METRIC = Metric(
    name="serial_fraction_apart",
    title="Serial fraction without communication",
    unit=FRACTION,
    kind="level",
    better="lower",
    dimension="performance",
    formula="s of T1 (s + (1 - s)/p) + c(p)",
    compute=compute,
)
