"""How many rank-seconds does a step lose because ranks wait for the slowest?

straggler_wait = sum over ranks of (own time of the step's slowest rank - own time of the rank); a launch's value is the mean over its
steady steps.  Own time: the step without standing still for communication (`metrics/straggler.py`), all of it durations on one host, so
that clocks of hosts do not matter.  What it holds is luck as well as slowness: ranks that are equally fast on average still wait, for
whichever was late this time; `slowest_rank_excess` and the audit `stragglers` tell the one from the other.
Source: METRICS.md, "Time inside a training step".  Cannot tell: what of it would be hidden by communication that must be waited for anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.rank_phases import ONE_RANK, own_times
from assay.metrics.base import Metric, Results
from assay.stats.groups.stragglers import lost_waiting
from assay.units import SECONDS

UNSEEN = (
    "no launch says how long its ranks stood still for communication; run the script without marks of its own (assay attaches itself), "
    "or record its collectives"
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Mean over steps per launch, then over launches."""
    rows = [(own.launch, float(lost_waiting(own.whole).mean()), len(own.step_s)) for own in own_times(measured) if own.whole is not None]
    frame = pl.DataFrame(rows, schema={"launch": pl.Int32, "value": pl.Float64, "steps": pl.Int64}, orient="row")
    found = from_frame(
        measured,
        frame,
        unit=SECONDS,
        name="straggler_wait",
        missing=UNSEEN,
        trials="steps",
        aggregate="mean over steady steps of the rank-seconds until the slowest rank was ready",
    )
    alone = {one.name for one in measured.varied if one.workers == 1}
    return {name: Absent(reason="not_applicable", detail=ONE_RANK) if name in alone else value for name, value in found.items()}


METRIC = Metric(
    name="straggler_wait",
    title="Waiting for the slowest rank",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="mean over steps of sum over ranks (own time of the slowest rank - own time), rank-seconds a step",
    compute=compute,
)
