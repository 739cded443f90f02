"""How long does a step wait for its batch?

data_time = the phase of the slowest rank of each step; a launch's value is the median over its steps after warm-up.
Source: METRICS.md, "Time inside a training step".  Measured on the slowest rank of each step; prefetching loaders make it small without
making loading cheap.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.phases import phase_time
from assay.units import SECONDS

NOT_SEEN = "no DataLoader was seen to be waited for, and the script did not mark its steps; iterate over probe.steps(loader) to have it"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median of the phase per launch, then over launches."""
    return phase_time(measured, "data", missing=NOT_SEEN)


METRIC = Metric(
    name="data_time",
    title="Waiting for data",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of the slowest rank's data phase",
    compute=compute,
)
