"""With how many workers is throughput highest?

sqrt((1 - alpha)/beta) of the fitted Universal Scalability Law, named only where the data show it: at least two measured
worker counts beyond it, and a throughput at the largest that is significantly lower than next to the peak (one-sided
paired t over the blocks).  Otherwise there is no peak up to the largest measured count, which is what is said.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.scaling_points import estimate, refusal, usl
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.scaling_laws import Refused
from assay.stats.models.scaling_predictions import peak
from assay.units import WORKERS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One peak for the whole experiment."""
    fitted = usl(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    found = peak(*fitted)
    if isinstance(found, Refused):
        return {ALL: refusal(found)}
    place = found.workers
    return {
        ALL: estimate(
            measured,
            *fitted,
            (place.value, place.low, place.high),
            metric="usl_peak",
            unit=WORKERS,
            how=f"sqrt((1 - alpha)/beta) of the Universal Scalability Law; {found.sentence}",
        )
    }


METRIC = Metric(
    name="usl_peak",
    title="Workers at the peak",
    unit=WORKERS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="sqrt((1 - alpha)/beta), where measured counts beyond it show the fall",
    compute=compute,
)
