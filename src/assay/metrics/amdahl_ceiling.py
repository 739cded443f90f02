"""How fast could this work ever become, if the fitted serial fraction stays what it is?

ceiling = 1/s.  A serial fraction whose interval reaches 0 bounds the ceiling from below only.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import transform
from assay.frames.record_data import Measured
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.scaling import ceiling
from assay.units import RATIO


def compute(_: Measured, results: Results) -> Mapping[str, Value]:
    """One ceiling for the whole experiment."""
    serial = results["serial_fraction"][ALL]
    if isinstance(serial, Absent):
        return {ALL: serial}
    if serial.value <= 0.0:
        return {ALL: Absent(reason="undefined", detail="the fitted serial fraction is not positive: the data show no ceiling")}
    return {ALL: transform(serial, ceiling, unit=RATIO, name="amdahl_ceiling", how="1/s")}


METRIC = Metric(
    name="amdahl_ceiling",
    title="Amdahl ceiling",
    unit=RATIO,
    kind="level",
    better="higher",
    dimension="performance",
    formula="1 / s",
    compute=compute,
    after=("serial_fraction",),
)
