"""How many requests per second meet every objective while a replica is away?

goodput_under_failure = requests due between the fault and the struck replica's return that met every objective / that time;
without objectives: that were answered.  To be read beside goodput: the share that is left when one of the replicas
restarts.  One fault launch has no interval.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.outages import rate
from assay.metrics.base import Metric, Results
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Requests per second per configuration."""
    how = "good requests due between the fault and the replica's return / that time, in fault launches"
    return rate(measured, "goodput_under_failure", PER_SECOND, how)


METRIC = Metric(
    name="goodput_under_failure",
    title="Goodput under failure",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="reliability",
    formula="good requests due while the replica was away / that time",
    compute=compute,
    about=("serving",),
)
