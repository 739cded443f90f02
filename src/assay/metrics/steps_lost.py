"""How many finished steps does a fault cost?

steps_lost = steps finished before the fault - step at which the restarted job went on (its checkpoint), over all strikes.  Exact count.
It depends on where between two checkpoints the fault struck: the plan draws that at random.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.recovery import recoveries, unrecovered, unstruck
from assay.metrics.base import Metric, Results
from assay.units import STEPS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Most steps lost in any fault launch of a configuration."""
    found: dict[str, Value] = {}
    every = recoveries(measured)
    for name in measured.configurations:
        own = [recovery for recovery in every if recovery.configuration == name]
        lost: dict[int, int] = {}
        for one in own:
            if one.steps_lost is not None:
                lost[one.launch] = lost.get(one.launch, 0) + one.steps_lost
        if not own:
            found[name] = unstruck(measured, name)
        elif not lost:
            found[name] = unrecovered(own)
        else:
            found[name] = exact(
                float(max(lost.values())),
                unit=STEPS,
                name="steps_lost",
                n_launches=len(lost),
                n_trials=len(lost),
                how="steps finished before the fault less the first step after the restart; most of any fault launch",
            )
    return found


METRIC = Metric(
    name="steps_lost",
    title="Steps lost",
    unit=STEPS,
    kind="count",
    better="lower",
    dimension="reliability",
    formula="steps finished before the fault - first step after the restart",
    compute=compute,
)
