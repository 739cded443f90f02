"""How much payload per second reaches another host, and comes back from it?

link_rate = bytes that arrived / seconds of an iperf3 transfer over one TCP connection; the key "HOST back" is that with -R.  Over rounds
Student t on logarithms.  Unit: bytes per second, of payload: headers are not in it.  Source: iperf3(1).
Cannot tell: what of it is the network's and what the two machines'; what several connections at once would reach.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.links.network_probe import BACK, hosts, medians, why_not
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results

BYTES_PER_SECOND = "B/s"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per host and direction."""
    found = {}
    for host in hosts(measured):
        for key, counter in ((host, "there_received"), (f"{host}{BACK}", "back_received")):
            found[key] = medians(
                measured, host, counter, unit=BYTES_PER_SECOND, name="link_rate", missing=why_not(measured, host, "iperf3")
            )
    return found


METRIC = Metric(
    name="link_rate",
    title="Rate of the link",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="bytes received / seconds of an iperf3 transfer",
    compute=compute,
    about=("network",),
    primary=True,
)
