"""How long does a whole run take, from the launcher's start until its last process is gone?

wall_time = end - begin of the launch: imports, rendezvous, training, evaluation and checkpoints included.
It is what a user waits for and pays for; it cannot tell how long the same run would take with more steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.work_time import wall_seconds
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Wall time per launch, then over launches."""
    return from_frame(
        measured, wall_seconds(measured), unit=SECONDS, name="wall_time", missing="no launch has ended", trials="", aggregate="whole launch"
    )


METRIC = Metric(
    name="wall_time",
    title="Wall time of a run",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="end - begin of the launch",
    compute=compute,
    primary=True,
)
