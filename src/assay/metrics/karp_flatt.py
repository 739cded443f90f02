"""Which serial fraction does each worker count show on its own?

e(p) = (1/S - 1/p) / (1 - 1/p), Karp and Flatt 1990.  Flat over p: serial work.  Rising with p: communication and
imbalance.  Defined for a base of one worker only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import transform
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.stats.models.scaling import karp_flatt
from assay.units import FRACTION


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """Karp-Flatt fraction per worker count above one."""
    found: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        speedup = results["speedup"][name]
        if measured.experiment.base_level != 1:
            found[name] = Absent(reason="not_applicable", detail="defined only for speedups over one worker")
        elif level == 1:
            found[name] = Absent(reason="not_applicable", detail="undefined at one worker")
        elif isinstance(speedup, Absent):
            found[name] = speedup
        elif speedup.low <= 0.0:
            found[name] = Absent(reason="insufficient", detail="one block does not bound the speedup; use at least 2 launches")
        else:
            found[name] = transform(speedup, partial(karp_flatt, p=level), unit=FRACTION, name="karp_flatt", how="(1/S - 1/p) / (1 - 1/p)")
    return found


METRIC = Metric(
    name="karp_flatt",
    title="Karp-Flatt serial fraction",
    unit=FRACTION,
    kind="level",
    better="lower",
    dimension="performance",
    formula="e(p) = (1/S - 1/p) / (1 - 1/p)",
    compute=compute,
    after=("speedup",),
)
