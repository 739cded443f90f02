"""How far off may a time of one host be on another's clock?

clock_bound = the largest bound of any host's clock against rank 0's, in the middle of its looks (`metrics/clock_offsets.py`); 0 where the
hosts share a kernel and so a clock.  An interval between two hosts is told only if it is at least ten bounds long.
Source: RFC 5905 (half of the way there and back bounds an offset); DESIGN.md, clock rule.
Cannot tell: how far off the clocks really are (it is a bound); anything about the time of day, which is never subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import no_launch
from assay.frames.clock_offsets import HostClock, clock_offsets
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import NS_PER_S, SECONDS

ONE_HOST = Absent(reason="not_applicable", detail="all workers ran on one host, which has one clock")


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The largest bound per launch, then over launches."""
    timed = dict(measured.timed.select("launch", "configuration").iter_rows())
    clocks: dict[str, list[HostClock]] = {}
    for (launch, _host), clock in clock_offsets(measured).items():
        if launch in timed:
            clocks.setdefault(timed[launch], []).append(clock)
    bounds = (
        pl.DataFrame(
            [(one.launch, one.bound / NS_PER_S) for own in clocks.values() for one in own if one.known],
            schema={"launch": pl.Int32, "value": pl.Float64},
            orient="row",
        )
        .group_by("launch")
        .agg(pl.col("value").max())
    )
    told = from_frame(
        measured,
        bounds,
        unit=SECONDS,
        name="clock_bound",
        missing="no worker said where it began",
        trials="launches",
        aggregate="largest bound of a host's clock against rank 0's",
    )
    return {name: _of(name, clocks.get(name), told) for name in measured.configurations}


def _of(name: str, clocks: list[HostClock] | None, told: Mapping[str, Value]) -> Value:
    if clocks is None:
        return told[name] if isinstance(told[name], Absent) else no_launch(name)
    if len({clock.host for clock in clocks}) == 1:
        return ONE_HOST
    unknown = next((clock for clock in clocks if not clock.known), None)
    if unknown is not None:
        return Absent(reason="not_measured", detail=f"the clock of {unknown.host} in launch {unknown.launch}: {unknown.trouble}")
    return told[name]


METRIC = Metric(
    name="clock_bound",
    title="Bound of hosts' clocks",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="max over hosts of the bound of its clock's offset against rank 0's",
    compute=compute,
    about=("training",),
)
