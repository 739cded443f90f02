"""How many successive steps say the same thing?

step_autocorrelation = integrated autocorrelation time of the steady step times inside a launch: 1 for independent steps,
(1 + f)/(1 - f) for AR(1) with coefficient f; n steps are worth n / tau independent ones.  One value per launch, centred
on that launch, Student t on the logs.  Source: methodology 9.2 step 5 (Sokal's window).  It cannot tell a memory longer
than the launch, and a percentile's own effective sample size rests on "above it or not", which its method states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import no_launch, of_interval
from assay.estimates.percentiles import Series
from assay.frames.record_data import Measured
from assay.frames.training.steady_series import MARK_STEPS, steady_series
from assay.metrics.base import Metric, Results
from assay.stats.intervals.autocorrelation import integrated_time
from assay.stats.intervals.intervals import log_t
from assay.units import STEPS

LEAST_STEPS: Final = 20  # below, the window of five autocorrelation times has no room


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The autocorrelation time per launch, then over launches."""
    return {name: _value(measured, name, series) for name, series in steady_series(measured).items()}


def _value(measured: Measured, configuration: str, series: Series) -> Value:
    if configuration not in measured.timed["configuration"]:
        return no_launch(configuration)
    if not series:
        return Absent(reason="not_measured", detail=MARK_STEPS)
    shortest = min(map(len, series))
    if shortest < LEAST_STEPS:
        detail = f"autocorrelation shows from {LEAST_STEPS} steady steps in each launch on; a launch has {shortest}"
        return Absent(reason="insufficient", detail=detail)
    times = [integrated_time([steps]) for steps in series]
    aggregate = "integrated autocorrelation time of the steady steps"
    return of_interval(
        log_t(times, measured.confidence),
        times,
        measured.confidence,
        unit=STEPS,
        name="step_autocorrelation",
        n_trials=sum(map(len, series)),
        tags=f"agg:{aggregate}|ci:t-log",
        method=f"Student t on the log of {len(times)} launch values; each is the {aggregate}",
    )


METRIC = Metric(
    name="step_autocorrelation",
    title="Step autocorrelation",
    unit=STEPS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="1 + 2 sum of autocorrelations of step_time, Sokal's window of 5",
    compute=compute,
)
