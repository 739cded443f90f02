"""How much more work do more workers do in the same time, if the work grows with them?

Gustafson's p - s (p - 1) at the largest measured p, 1988; s is the serial share of the time on p workers, fitted to the
throughput X(p) = gamma (p - s (p - 1)) of every launch.  For weak scaling only.  It cannot tell serial work from
communication that grows no faster than the workers.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.scaling_points import estimate, throughputs
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.scaling import gustafson
from assay.stats.models.scaling_laws import fit
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One scaled speedup for the whole experiment, at its largest worker count."""
    if measured.mode != "weak":
        return {ALL: Absent(reason="not_applicable", detail="Gustafson's law describes weak scaling")}
    if measured.experiment.base_level != 1:
        return {ALL: Absent(reason="not_applicable", detail="Gustafson's law needs a base of one worker")}
    data = throughputs(measured)
    if isinstance(data, Absent):
        return {ALL: data}
    if len(data.workers) - data.spent < 3:
        return {ALL: Absent(reason="insufficient", detail="a fit with an interval needs more worker counts or blocks")}
    found, p = fit("gustafson", data, measured.confidence), data.levels[-1]
    serial = found.parameter("serial")
    ends = (gustafson(serial.value, p), gustafson(serial.high, p), gustafson(serial.low, p))
    how = f"p - s (p - 1) at p = {p:g}, s = {serial.value:.4g} of Gustafson's law"
    return {ALL: estimate(measured, found, data, ends, metric="scaled_speedup", unit=RATIO, how=how)}


METRIC = Metric(
    name="scaled_speedup",
    title="Scaled speedup",
    unit=RATIO,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="p - s (p - 1), s from X(p) = gamma (p - s (p - 1))",
    compute=compute,
)
