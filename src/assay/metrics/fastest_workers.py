"""With how many workers is a step shortest, beyond which one more makes it longer?

The whole p of the least T(p) = T1 (s + (1 - s)/p) + c(p) (`metrics.wall`): adding workers shortens the work by T1 (1 - s)/p^2 and
lengthens a ring by 2 alpha a bucket.  Beyond twice the largest measured count it is an extrapolation, and its method says so.
Cannot tell: whether an engine would change its algorithm before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import model, of_model, refusal
from assay.metrics.base import ALL, Metric, Results
from assay.stats.intervals.intervals import Interval
from assay.stats.models.communication_wall import FARTHEST, Curve, parameter
from assay.units import WORKERS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One worker count for the whole experiment."""
    found = model(measured)
    if isinstance(found, Absent):
        return {ALL: found}
    if (refused := refusal(measured)) is not None:
        return {ALL: refused}
    if measured.mode == "weak":
        return {ALL: Absent(reason="not_applicable", detail="where work grows with the workers, no step gets shorter")}
    middle = found.fitted.middle.fastest()
    every = [curve.fastest() for one in (found.fitted, *found.others) for curve in one.curves]
    if middle is None or any(best is None for best in every):
        return {ALL: Absent(reason="undefined", detail=f"by the model a step gets shorter with every worker, up to {FARTHEST:,.0f}")}

    def place(curve: Curve) -> float:
        return math.log(curve.fastest() or 1)

    logs = parameter(found.fitted, measured.confidence, place, found.others)
    low, high = (0.0, math.inf) if math.isinf(logs.high) else (math.exp(logs.low), math.exp(logs.high))
    interval = Interval(value=float(middle), low=max(1.0, min(low, middle)), high=max(high, middle))
    return {ALL: of_model(measured, found, interval, unit=WORKERS, name="fastest_workers", how="the least T(p) of", at=float(middle))}


METRIC = Metric(
    name="fastest_workers",
    title="Workers of the shortest step",
    unit=WORKERS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="p of the least T1 (s + (1 - s)/p) + c(p)",
    compute=compute,
)
