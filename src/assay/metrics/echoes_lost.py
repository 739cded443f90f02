"""Which share of the echoes did not come back?

echoes_lost = 1 - answered / sent over all rounds together, of the way of asking that round_trip uses.  A count: exact.  Unit: fraction.
Source: ping(8).  Cannot tell: in which direction a packet was lost; losses that are rarer than one in the number of echoes.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.links.network_probe import BY, hosts, readings, why_not
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One count per host."""
    return {host: _of(measured, host) for host in hosts(measured)}


def _of(measured: Measured, host: str) -> Value:
    for how in BY:
        sent, answered = (readings(measured, host, f"{how}_{what}") for what in ("sent", "answered"))
        if sent["value"].sum() and (answered["value"].sum() or how == BY[-1]):
            share = 1.0 - float(answered["value"].sum()) / float(sent["value"].sum())
            number = round(float(sent["value"].sum()))
            return exact(
                share,
                unit=FRACTION,
                name=f"echoes_lost|by:{how}",
                n_launches=sent.height,
                n_trials=number,
                how=f"counted over {number} echoes",
            )
    return Absent(reason="not_measured", detail=why_not(measured, host, "ping", "connect"))


METRIC = Metric(
    name="echoes_lost",
    title="Echoes lost",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="reliability",
    formula="1 - answered / sent",
    compute=compute,
    about=("network",),
    primary=True,
)
