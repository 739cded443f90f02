"""How long is the forward pass?

forward_time = the phase of the slowest rank of each step; a launch's value is the median over its steps after warm-up.
Source: METRICS.md, "Time inside a training step".  Under DDP and FSDP the backward pass contains communication: this is not a
communication time.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.phases import phase_time
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Median of the phase per launch, then over launches."""
    return phase_time(measured, "forward", missing='the script did not mark this phase; use: with probe.phase("forward")')


METRIC = Metric(
    name="forward_time",
    title="Forward pass",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over steps of the slowest rank's forward phase",
    compute=compute,
)
