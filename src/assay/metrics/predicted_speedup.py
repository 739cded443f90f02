"""Which speedup would twice the largest measured worker count give?

S(p) = T1 / T(p) at p = 2 max(p) by T(p) = T1 (s + (1 - s)/p) + c(p), where the record holds alpha and beta (`metrics.wall`); its
interval is that of as many launches as were made.  With fewer than four worker counts it is flagged in its method; where the model
misses the largest count by more than 20 % when that is held out, it is refused.  Without alpha and
beta: the law that AICc prefers (`stats.scaling_fits`), and refused with fewer than four counts or where that law misses the largest.
`communication_wall_error` says how well such a prediction did where it could be checked.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.format import given
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import NEXT, POINTS, model, of_model
from assay.frames.training.communication_model import refusal as of_miss
from assay.frames.training.scaling_points import chosen, estimate, refusal, throughputs
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.communication_wall import Curve, predict
from assay.stats.models.scaling_laws import Refused
from assay.stats.models.scaling_predictions import predict as by_law
from assay.stats.models.scaling_predictions import relative_curve
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One speedup for the whole experiment."""
    found = model(measured)
    if isinstance(found, Absent):
        return {ALL: _by_law(measured, found)}
    if (refused := of_miss(measured)) is not None:
        return {ALL: refused}
    p, launches = found.next, found.fitted.blocks
    interval = predict(found.fitted, p, measured.confidence, launches=launches, others=found.others, what=Curve.speedup)
    worst = predict(found.all_exposed, p, measured.confidence, launches=launches, what=Curve.speedup).value
    bound = f" ({given(worst, 3)} if nothing were hidden there)" if found.hides else ""
    return {ALL: of_model(measured, found, interval, unit=RATIO, name="predicted_speedup", how=f"T1 / T({p}){bound} of", at=float(p))}


def _by_law(measured: Measured, why: Absent) -> Value:
    if measured.experiment.base_level != 1:
        return Absent(reason="not_applicable", detail="a prediction needs a base of one worker")
    data = throughputs(measured)
    if isinstance(data, Absent):
        return data
    if len(data.levels) < POINTS:
        return Absent(reason="refused", detail=f"{len(data.levels)} worker counts, fewer than {POINTS}, and {why.detail}")
    law = chosen(measured, data)
    if isinstance(law, Refused):
        return refusal(law)
    p = NEXT * data.levels[-1]
    told = by_law(law.chosen, data, p)
    if isinstance(told, Refused):
        return refusal(told)
    curve = relative_curve(law.chosen, [p], 1.0)[0]
    return estimate(
        measured,
        law.chosen,
        data,
        (curve.value, curve.low, curve.high),
        metric="predicted_speedup",
        unit=RATIO,
        how=f"X({p:g}) / X(1) of a law fitted without knowing the links ({why.detail})",
    )


METRIC = Metric(
    name="predicted_speedup",
    title="Predicted speedup at twice the workers",
    unit=RATIO,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="T1 / T(p) at p = 2 max(p), by the model of communication, else by a law",
    compute=compute,
)
