"""How long does a training step take?

step_time = end - begin - checkpoint of the slowest rank, per step; a launch's value is the median over its steps
after warm-up.  Source: METRICS.md, "Time inside a training step".  It cannot tell how the step divides into
communication and computation when they overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import no_launch
from assay.estimates.percentiles import Series, tail_value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.steady_series import MARK_STEPS, steady_series
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median step time per launch, then over launches."""
    per_launch = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("value"), pl.len().alias("steps"))
    return from_frame(
        measured,
        per_launch,
        unit=SECONDS,
        name="step_time",
        missing=MARK_STEPS,
        trials="steps",
        aggregate="median over steady steps of the slowest rank's time",
    )


METRIC = Metric(
    name="step_time",
    title="Step time",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of max over ranks (end - begin - checkpoint)",
    compute=compute,
    primary=True,
)


def step_time_percentile(measured: Measured, p: float, name: str) -> Mapping[str, Value]:
    """The p-quantile (0..1) of the steady steps per configuration, in seconds; Absent where the data cannot carry it."""
    return {
        configuration: _value(measured, series, p, name) if series else _nothing(measured, configuration)
        for configuration, series in steady_series(measured).items()
    }


def _nothing(measured: Measured, configuration: str) -> Absent:
    if configuration not in measured.timed["configuration"]:
        return no_launch(configuration)
    return Absent(reason="not_measured", detail=MARK_STEPS)


def _value(measured: Measured, series: Series, p: float, name: str) -> Value:
    return tail_value(series, p, name, measured.confidence, "steps")
