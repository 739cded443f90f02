"""Does the loading of data hold the workers up, and does it scale with them?

A part of the step that a faster loader would take away: data_time at each worker count against the step, and against the base: waiting
that does not fall as the work per worker does is a loader that does not scale.  `data_loading` says whether step times are still
comparable; this one says what could be gained.  Cannot tell which part of the loading is slow.
"""

from __future__ import annotations

from assay.metrics.base import Results
from assay.metrics.estimate import Estimate
from assay.metrics.measured import Measured
from assay.verdict.audits.base import Audit
from assay.verdict.bottlenecks import finding
from assay.verdict.types import Finding

KNOB = "more loader workers (num_workers), prefetching, data in memory or on a faster disk; `assay tune` tries them out"


def examine(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """A note per worker count whose steps wait long for their data."""
    return tuple(
        one
        for name in measured.configurations
        for one in finding(
            measured,
            results,
            name,
            part="data_time",
            rule="bottleneck_data",
            what=_what(measured, results, name),
            knob=KNOB,
        )
    )


def _what(measured: Measured, results: Results, name: str) -> str:
    """The waiting, and whether it grew with the workers."""
    base, own = (results.get("data_time", {}).get(one) for one in (measured.base, name))
    if name == measured.base or not isinstance(base, Estimate) or not isinstance(own, Estimate) or base.value <= 0.0:
        return "waiting for data"
    return f"waiting for data ({own.value / base.value:.2g} times that of the base)"


AUDIT = Audit(
    name="bottleneck_data", title="data that holds the workers up", question="Could faster loading make the steps shorter?",
    examine=examine, about=("training",),
)  # fmt: skip
