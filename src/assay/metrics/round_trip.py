"""How long does the way to another host and back take?

round_trip = median of a round's echoes (ping; a TCP connection where there is no ping, which the signature says); over rounds Student t
on logarithms.  Unit: seconds.  Sources: ping(8), RFC 792.  Cannot tell: how long one direction takes; what it takes under load (the
audit holds the round trip that iperf3 saw meanwhile beside it).
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.links.network_probe import by, hosts, medians, why_not
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per host."""
    found = {}
    for host in hosts(measured):
        how = by(measured, host) or "ping"
        found[host] = medians(
            measured, host, f"{how}_rtt", unit=SECONDS, name=f"round_trip|by:{how}", missing=why_not(measured, host, "ping", "connect")
        )
    return found


METRIC = Metric(
    name="round_trip",
    title="Round trip",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="median over echoes of (answer - question)",
    compute=compute,
    about=("network",),
    primary=True,
)
