"""What is the highest load at which enough requests meet their objectives?

capacity = load at which slo_attainment crosses serving.objectives.attainment, between measured loads:
`assay.stats.models.capacity` says how the line and its interval are made.  In requests per second where rates were asked for, in
streams where concurrency was.  One value for the whole experiment, or with several engines or scenarios one for each, under
all of its configurations. It is refused where the loads do not bracket it, and cannot tell anything beyond the measured
ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import of_interval
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import no_objectives
from assay.metrics.base import ALL, Metric, Results
from assay.metrics.latencies import counted
from assay.spec.plan import Configuration
from assay.stats.intervals.intervals import Interval
from assay.stats.models.capacity import Point, capacity
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One value, or one per engine and scenario."""
    curves: dict[tuple[str, str], list[Configuration]] = {}
    for one in measured.varied:
        curves.setdefault((one.target, one.scenario), []).append(one)
    if len(curves) == 1:
        return {ALL: curve(measured, measured.varied)}
    return {one.name: value for own in curves.values() for value in [curve(measured, own)] for one in own}


def curve(measured: Measured, own: Sequence[Configuration]) -> Value:
    """The capacity of one engine at one scenario, from its configurations by ascending load."""
    serving = measured.experiment.serving
    if (why := no_objectives(measured)) is not None or serving is None:
        return why or NO_LOADS
    if any(one.load is None for one in own):
        return NO_LOADS
    target = min(serving.objectives.attainment, HIGHEST)
    points = _points(measured, own)
    if not points:
        return Absent(reason="not_measured", detail="no request was due in a measured window")
    found = capacity(points, target, measured.confidence)
    if found.refused:
        return Absent(reason="insufficient", detail=found.refused)
    made = of_interval(
        Interval(value=found.value, low=found.low, high=found.high),
        [],
        measured.confidence,
        unit=PER_SECOND if serving.rate else STREAMS,
        name="capacity",
        n_trials=int(sum(point.total for point in points)),
        tags=f"agg:crossing of {target:g}|launches:{found.launches}|ci:t-band",
        method=f"load at which {100 * target:g} % of the requests meet the objectives, on the monotone line through the log odds of a "
        f"miss at {len(own)} loads of {found.launches} launches; all loads within Student's t of the line",
    )
    return replace(made, n_launches=found.launches)


def _points(measured: Measured, own: Sequence[Configuration]) -> list[Point]:
    loads = {one.name: float(one.load) for one in own if one.load is not None}
    rows = counted(measured).filter(pl.col("configuration").is_in(list(loads)))
    per_launch = rows.group_by("launch", "configuration", "block").agg(pl.col("met").sum(), pl.len().alias("total")).sort("launch")
    return [
        Point(load=loads[row["configuration"]], hits=float(row["met"]), total=float(row["total"]), block=row["block"])
        for row in per_launch.to_dicts()
    ]


HIGHEST = 1.0 - 1e-9  # an attainment of 1 is asked of every request; no finite number of them shows it
STREAMS = "streams"
NO_LOADS = Absent(reason="not_applicable", detail="the load was not varied; give serving.rate or serving.concurrency several values")


METRIC = Metric(
    name="capacity",
    title="Capacity",
    unit=PER_SECOND,
    kind="level",
    better="higher",
    dimension="performance",
    formula="load at which slo_attainment crosses objectives.attainment",
    compute=compute,
    about=("serving",),
    primary=True,
)
