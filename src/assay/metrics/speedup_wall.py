"""How much sooner does the whole run end than with the base configuration?

S_wall(p) = wall_time(base) / wall_time(p), paired by block: start-up, rendezvous, evaluation and checkpoints included.
For short runs it is far below the steady-state speedup, and it is what the user felt.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.scaling_mode import same_total
from assay.frames.training.work_time import wall_seconds
from assay.metrics.base import Metric, Results
from assay.metrics.speedup import paired_speedup
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Wall-time speedup per configuration, of runs that do the same work: strong scaling, or epochs of the same data."""
    if measured.mode == "weak" and not (measured.experiment.scaling.mode == "auto" and same_total(measured.global_steps, measured.timed)):
        why = Absent(reason="not_applicable", detail="under weak scaling the runs do different amounts of work")
        return dict.fromkeys(measured.configurations, why)
    values = wall_seconds(measured)
    return {name: paired_speedup(measured, values, name, "wall", "speedup_wall") for name in measured.configurations}


METRIC = Metric(
    name="speedup_wall",
    title="Speedup of the whole run",
    unit=RATIO,
    kind="ratio",
    better="higher",
    dimension="performance",
    formula="wall_time(base) / wall_time(p), paired by block",
    compute=compute,
)
