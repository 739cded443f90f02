"""By how much of a step is one rank slower than the others, all through a launch?

slowest_rank_excess = max over ranks of the median over steady steps of (own time - upper median of the other ranks' own times in the
same step), over the median step time.  Near 0: no rank is the slow one, whatever they wait for each other (`straggler_wait`).
Own time: the step without standing still for communication (`metrics/straggler.py`).  As the largest of several medians it lies a
little above 0 where all ranks are alike; the audit `stragglers` tests it.
Cannot tell: a rank that is late in fewer than half of its steps; which rank it was (the audit names it).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import average, no_launch
from assay.frames.record_data import Measured
from assay.frames.training.rank_phases import ONE_RANK, Own, own_times
from assay.metrics.base import Metric, Results
from assay.metrics.straggler_wait import UNSEEN
from assay.stats.groups.stragglers import beyond_others
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One share per launch, then the mean over launches: it may be 0."""
    launches = [own for own in own_times(measured) if own.whole is not None]
    timed = set(measured.timed["configuration"].to_list())
    found: dict[str, Value] = {}
    for one in measured.varied:
        own = [launch for launch in launches if launch.configuration == one.name]
        if one.workers == 1:
            found[one.name] = Absent(reason="not_applicable", detail=ONE_RANK)
        elif own:
            found[one.name] = average(
                [share(launch) for launch in own],
                measured.confidence,
                unit=FRACTION,
                name="slowest_rank_excess",
                aggregate="largest median excess of a rank over the median step",
                n_trials=sum(len(launch.step_s) for launch in own),
            )
        else:
            found[one.name] = Absent(reason="not_measured", detail=UNSEEN) if one.name in timed else no_launch(one.name)
    return found


def share(own: Own) -> float:
    """Of one launch whose waiting is known."""
    assert own.whole is not None
    return float(np.median(beyond_others(own.whole), axis=0).max() / np.median(own.step_s))


METRIC = Metric(
    name="slowest_rank_excess",
    title="Excess of the slowest rank",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="performance",
    formula="max over ranks of median over steps (own time - upper median of the others') / median step time",
    compute=compute,
)
