"""How far off would the largest worker count have been predicted from the smaller ones?

X_fit(p) / X(p) - 1 at the largest measured p, where the law is chosen by AICc and fitted without that p.  Above 0: the
fit promised more than was measured.  Beyond 20 % either way nothing is predicted from this experiment.  Needs three
smaller worker counts.  A small error does not show that the law holds at larger p.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import count
from assay.frames.record_data import Measured
from assay.frames.training.scaling_points import bounded, laws_of, refusal, throughputs
from assay.frames.training.work_time import time_basis
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.scaling_laws import Refused
from assay.stats.models.scaling_predictions import held_out
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One error for the whole experiment."""
    data = throughputs(measured)
    if isinstance(data, Absent):
        return {ALL: data}
    held = held_out(data, laws=laws_of(measured), confidence=measured.confidence)
    if isinstance(held, Refused):
        return {ALL: refusal(held)}
    blocks = data.spent + 1
    value, low, high = bounded((held.error.value, held.error.low, held.error.high), blocks)
    return {
        ALL: Estimate(
            value=value,
            low=low,
            high=high,
            unit=FRACTION,
            confidence=measured.confidence,
            n_launches=blocks,
            n_trials=len(data.workers),
            method=f"predicted over measured throughput at p = {held.workers:g}, less 1; fitted without it: {held.sentence}; "
            f"interval of the fit and of {count(blocks, 'launches')} there",
            signature=f"held_out_error|law:{held.law}|p:{held.workers:g}|basis:{time_basis(measured)}|ci:t|k:{blocks}"
            f"|conf:{measured.confidence:g}|v:1",
        )
    }


METRIC = Metric(
    name="held_out_error",
    title="Error of predicting the largest p",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="X_fit(p) / X(p) - 1 at the largest p, fitted without it",
    compute=compute,
)
