"""And if the work grew with the workers: how much more would twice the largest measured count do in the same time?

(s + (1 - s) p) T1 / (T1 + c(p)) at p = 2 max(p): Gustafson's p - s (p - 1), 1988, less what the links of the same record take
(`metrics.wall`).  In weak scaling s is not known, and all the work counts as growing: p T1 / T(p).
Cannot tell: whether the larger problem would send more bytes in a step; they are taken to stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import model, of_model, refusal
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.communication_wall import Curve, predict
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One scaled speedup for the whole experiment."""
    found = model(measured)
    if isinstance(found, Absent):
        return {ALL: found}
    if (refused := refusal(measured)) is not None:
        return {ALL: refused}
    p = found.next
    interval = predict(found.fitted, p, measured.confidence, launches=found.fitted.blocks, others=found.others, what=Curve.scaled)
    how = f"(s + (1 - s) p) T1 / (T1 + c(p)) at p = {p} of"
    return {ALL: of_model(measured, found, interval, unit=RATIO, name="predicted_scaled_speedup", how=how, at=float(p))}


METRIC = Metric(
    name="predicted_scaled_speedup",
    title="Predicted scaled speedup at twice the workers",
    unit=RATIO,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="(s + (1 - s) p) T1 / (T1 + c(p)) at p = 2 max(p)",
    compute=compute,
)
