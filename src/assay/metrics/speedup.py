"""How much faster is the same work done than by the base configuration?

S(p) = T(base) / T(p), T the time per unit of work, compared inside each block (METRICS.md, "Scaling").
With steps: T = median steady step time / items of all ranks in a step, which serves strong and weak scaling alike.
Without: T = wall time of the launch.  Where the script counts no items, weak scaling means that work grows with the
workers.  The basis, the base and its absolute time are in the method and the signature
(Hoefler & Belli rule 1).  It cannot tell whether the base was itself as fast as it could be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact, no_launch, of_interval
from assay.frames.per_launch import in_blocks
from assay.frames.record_data import Measured
from assay.frames.training.parallelism import absent
from assay.frames.training.work_time import seconds_per_work, time_basis, wall_per_work
from assay.metrics.base import Metric, Results
from assay.stats.intervals.intervals import paired_log_ratio
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Speedup per configuration; the base has exactly 1."""
    basis = time_basis(measured)
    values = seconds_per_work(measured) if basis == "step" else wall_per_work(measured)
    return {name: paired_speedup(measured, values, name, basis, "speedup") for name in measured.configurations}


def paired_speedup(measured: Measured, values: pl.DataFrame, configuration: str, basis: str, name: str) -> Value:
    """T(base) / T(configuration) over the blocks that hold both."""
    if (unfit := absent(measured, configuration, "speedup")) is not None:
        return unfit
    base = in_blocks(measured, values, measured.base)
    own = in_blocks(measured, values, configuration)
    blocks = sorted(base.keys() & own.keys())
    if not own:
        return _no_times(measured, configuration, basis)
    if configuration == measured.base:
        how = f"1 by definition: this is the base, {basis} time"
        return exact(1.0, unit=RATIO, name=name, n_launches=len(own), n_trials=len(own), how=how)
    if not blocks:
        return Absent(reason="insufficient", detail=f"no block holds a launch of both {measured.base} and {configuration}")
    if not all(0.0 < value < math.inf for value in (*base.values(), *own.values())):
        detail = f"a {basis} time of 0 or less, or no work done in it, which cannot be; look at the rows"
        return Absent(reason="refused", detail=detail)
    interval = paired_log_ratio([base[b] for b in blocks], [own[b] for b in blocks], measured.confidence)
    ratios = [base[b] / own[b] for b in blocks]
    return of_interval(
        interval,
        ratios,
        measured.confidence,
        unit=RATIO,
        name=name,
        n_trials=len(blocks) * 2,
        method=f"Student t on the log ratio of {len(blocks)} blocks, {basis} time, relative to {measured.base}",
        tags=f"basis:{basis}|base:{measured.base}|ci:t-log-paired",
    )


def _no_times(measured: Measured, configuration: str, basis: str) -> Absent:
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    return Absent(reason="not_measured", detail=f'no {basis} times of {configuration}; mark the steps or use scaling.time = "wall"')


METRIC = Metric(
    name="speedup",
    title="Speedup",
    unit=RATIO,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="S(p) = T(base) / T(p) per unit of work, paired by block",
    compute=compute,
    primary=True,
)
