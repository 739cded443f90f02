"""How long does it take until an outage shows?

outage_detect_time = fault until its first sign: a request that failed, or the prober that was sure that the struck replica
does not answer, whichever came first.  What a monitor could know at the earliest; it cannot tell when the router or the
operator knew.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.outages import Outage, between, seconds
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    missing = "no request failed after the fault, and the struck replica went on answering"
    how = "fault until the first request failed or the prober was sure"
    return seconds(measured, "outage_detect_time", how, lambda outage: between(outage.fault_ns, _first_sign(outage), missing))


def _first_sign(outage: Outage) -> int | None:
    failed = outage.lost["end"].min()
    signs = [sign for sign in (failed, outage.known_ns) if isinstance(sign, int)]
    return min(signs, default=None)


METRIC = Metric(
    name="outage_detect_time",
    title="Time until an outage shows",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula="fault until the first request failed or the prober was sure",
    compute=compute,
    about=("serving",),
)
