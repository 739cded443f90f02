"""How long after a fault do requests meet their objectives as before?

recovery_time_serving = fault until the attainment of the objectives is back inside its interval of before (METRICS.md,
"Serving"), by due times; see `assay.frames.serving.outages`.  Without objectives: of being answered.  By how much assay was late to start
the replica again is left out.  0 where the attainment never
left that interval. As exact as requests come: at 100 requests a second to 10 ms.  One fault launch has no interval: ask for
more to have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import uncounted
from assay.frames.serving.outages import recovered_s, seconds
from assay.metrics.base import Metric, Results
from assay.metrics.rates import all_of
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Seconds per configuration."""
    how = "fault until the attainment is back inside its interval of before"
    if (why := uncounted(measured)) is not None:
        return all_of(measured, why)
    return seconds(measured, "recovery_time_serving", how, lambda outage: recovered_s(outage, measured.confidence), delayed=True)


METRIC = Metric(
    name="recovery_time_serving",
    title="Recovery time",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula="fault until the attainment is back inside its interval of before",
    compute=compute,
    about=("serving",),
    primary=True,
)
