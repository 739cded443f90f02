"""How far off would the model of communication have predicted the largest worker count from the smaller ones?

T_model(p) / T(p) - 1 at the largest measured p, block by block, with everything of that p left out of the fit: its steps, what hid
there, and in the absence of a sweep its collectives.  Above 0: slower was promised than was measured.  Needs two smaller counts.
A small error does not show that the model holds at larger p.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.communication_model import held_out, of_model
from assay.metrics.base import ALL, Metric, Results
from assay.stats.intervals.intervals import mean_t
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One error for the whole experiment."""
    found = held_out(measured)
    if isinstance(found, Absent):
        return {ALL: found}
    interval = mean_t(found.errors, measured.confidence)
    how = f"T_model / T - 1 at p = {found.workers}, predicted without it, of"
    return {ALL: of_model(measured, found.rest, interval, unit=FRACTION, name="communication_wall_error", how=how, values=found.errors)}


METRIC = Metric(
    name="communication_wall_error",
    title="Error of the model at the largest p",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="T_model(p) / T(p) - 1 at the largest p, fitted without it",
    compute=compute,
)
